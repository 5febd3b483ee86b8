// SPDX-License-Identifier: Apache-2.0
// An API whose queries ask for customers in batches. A loader remembers what it has loaded, so that a request asks for each
// customer once; there was to be one loader for each request, and there is one for the process.
'use strict';
const http = require('node:http');
const {steadily} = require('./pace.js');

class Customer {
  constructor(number) {
    this.number = number;
    this.name = `customer ${number}`;
    this.addresses = Array.from({length: 4}, (_, n) => `${n + 1} Harbour Road, door ${number * 31 + n}`);
    this.orders = Array.from({length: 12}, (_, n) => ({id: number * 100 + n, cents: number * 7919 % 90000 + n / 10}));
  }
}

class BatchLoader {
  constructor(fetch) {
    this.fetch = fetch;
    this.loaded = new Map();
    this.waiting = [];
  }

  load(key) {
    let known = this.loaded.get(key);
    if (!known) {
      known = new Promise((resolve) => {
        if (!this.waiting.length) setImmediate(() => this.dispatch());
        this.waiting.push({key, resolve});
      });
      this.loaded.set(key, known);
    }
    return known;
  }

  async dispatch() {
    const batch = this.waiting.splice(0);
    const values = await this.fetch(batch.map(({key}) => key));
    batch.forEach(({resolve}, n) => resolve(values[n]));
  }
}

const customers = new BatchLoader(async (keys) => keys.map((key) => new Customer(Number(key))));

const server = http.createServer(async (request, response) => {
  const keys = request.url.split('=')[1].split(',');
  const found = await Promise.all(keys.map((key) => customers.load(key)));
  response.writeHead(200, {'content-type': 'application/json'});
  response.end(JSON.stringify(found.map(({name, orders}) => ({name, total: orders.reduce((sum, o) => sum + o.cents, 0)}))));
});

server.listen(0, '127.0.0.1', () => {
  const agent = new http.Agent({keepAlive: true, maxSockets: 6});
  steadily(150, (number) => {
    const keys = Array.from({length: 10}, (_, n) => (n < 3 ? n : number * 10 + n));
    http.get({agent, port: server.address().port, path: `/customers?ids=${keys}`}, (r) => r.resume());
  });
});
