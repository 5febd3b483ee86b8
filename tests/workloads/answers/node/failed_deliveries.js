// SPDX-License-Identifier: Apache-2.0
// Delivers messages to a receiver that is gone. A delivery is tried again for ever, and remembers why each attempt failed.
'use strict';
const {steadily} = require('./pace.js');

class AttemptError extends Error {
  constructor(attempt) {
    super(`attempt ${attempt}: connect ECONNREFUSED 10.0.3.17:443`);
    this.at = new Date();
    this.attempt = attempt;
  }
}

class Delivery {
  constructor(number) {
    this.number = number;
    this.body = {order: number, state: 'shipped', articles: [number * 3, number * 5, number * 7]};
    this.attempts = [];
  }

  send() {
    this.attempts.push(new AttemptError(this.attempts.length + 1));
    setTimeout(() => this.send(), 3000);
  }
}

steadily(500, (number) => new Delivery(number).send());
