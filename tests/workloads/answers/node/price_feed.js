// SPDX-License-Identifier: Apache-2.0
// Each client that connects gets a timer that updates its prices. Clients go away; their timers, and what those hold, stay.
'use strict';
const {steadily} = require('./pace.js');

class Quote {
  constructor(symbol, price) {
    this.symbol = symbol;
    this.price = price;
    this.seen = new Date();
  }
}

class Subscription {
  constructor(client) {
    this.client = client;
    this.quotes = Array.from({length: 60}, (_, i) => new Quote(`SYM${client % 50}-${i}`, i * 1.5));
  }
  update() {
    for (const quote of this.quotes) quote.price *= 1.0001;
  }
}

function connectClient(number) {
  const subscription = new Subscription(number);
  setInterval(() => subscription.update(), 30000);
  return {close: () => subscription.client};
}

steadily(350, (number) => connectClient(number).close());
