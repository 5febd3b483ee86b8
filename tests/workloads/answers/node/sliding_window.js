// SPDX-License-Identifier: Apache-2.0
// Healthy: events of the last eight seconds, a cache of 4,000 entries, and answers that nobody keeps.
'use strict';
const {steadily} = require('./pace.js');

class Event {
  constructor(number) {
    this.number = number;
    this.detail = ('event ' + number).repeat(12);
  }
}

const recent = [], cache = new Map();
const window = 8 * 2500;

function handle(number) {
  recent.push(new Event(number));
  if (recent.length > 2 * window) recent.splice(0, window);
  cache.set(number * 7919 % 9000, Buffer.alloc(1024, number).toString('latin1'));
  if (cache.size > 4000) cache.delete(cache.keys().next().value);
  return JSON.stringify(recent.slice(-4)).length;
}

steadily(2500, handle);
