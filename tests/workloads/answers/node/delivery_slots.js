// SPDX-License-Identifier: Apache-2.0
// Healthy: a parcel is planned, waits seven seconds for its van, and is gone; a route keeps its last hundred stops.
'use strict';
const {EventEmitter} = require('node:events');
const {steadily} = require('./pace.js');

class Parcel {
  constructor(number) {
    this.number = number;
    this.address = `${number % 180} Station Road, district ${number * 7 % 90}`;
    this.events = Array.from({length: 10}, (_, n) => ({at: number + n, what: 'moved'}));
  }
}

const vans = new EventEmitter();
const routes = new Map(), waiting = new Map();

vans.on('leave', (number) => {
  const parcel = waiting.get(number), route = parcel.address.slice(-2);
  waiting.delete(number);
  if (!routes.has(route)) routes.set(route, []);
  const stops = routes.get(route);
  stops.push(parcel.address);
  if (stops.length > 100) stops.shift();
});

steadily(4300, (number) => {
  waiting.set(number, new Parcel(number));
  setTimeout(() => vans.emit('leave', number), 7000);
});
