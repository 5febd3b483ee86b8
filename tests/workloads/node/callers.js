// SPDX-License-Identifier: Apache-2.0
// callers.js FILE: comes to a place through calls of many kinds, over and over until V8 has compiled them, writes there
// what V8 itself says of its callers, then a line to its output, and stays there.
'use strict';
const fs = require('fs');

const ROUNDS = 30000;
Error.stackTraceLimit = 100;
let sum = 0;

class Shelf {
  constructor() {
    this.kept = new Array(64).fill(0);
  }

  take(n) {
    this.kept[n & 63] = inner(n);
    return this.kept[(n + 1) & 63];
  }
}

function inner(n) {
  return n < 0 ? stop() : smaller(n) + 1;
}

function smaller(n) {
  return n ^ 3;
}

function deep(depth, n, store) {
  return depth > 0 ? deep(depth - 1, n, store) + 1 : each([n], (value) => store.take(value));
}

const each = (values, use) => values.map(use).length;

function* numbers(n, store) {
  yield deep(6, n, store);
}

function sorted(n, store) {
  const order = [2, 1];
  order.sort(function compare(a, b) {
    for (const number of numbers(n, store)) sum += number;
    return a - b;
  });
  return order[0];
}

function stop() {
  fs.writeFileSync(process.argv[2], new Error().stack);
  fs.writeSync(1, '\n');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

const store = new Shelf();
for (let i = 0; i < ROUNDS; i++) sum += sorted(i, store);
sorted(-1, store);
