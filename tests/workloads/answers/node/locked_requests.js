// SPDX-License-Identifier: Apache-2.0
// An async lock that is taken once and never given back: each request waits for it with what it has read so far.
'use strict';
const {steadily} = require('./pace.js');

class Mutex {
  waiting = [];
  acquire() {
    return new Promise((resolve) => this.waiting.push(resolve));
  }
}

const mutex = new Mutex();

async function placeOrder(number) {
  const items = Array.from({length: 40}, (_, i) => ({sku: number * 40 + i, note: `item ${i} of ${number}`}));
  await mutex.acquire();
  return items.length;
}

steadily(900, placeOrder);
