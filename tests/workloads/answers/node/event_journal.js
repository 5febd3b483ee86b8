// SPDX-License-Identifier: Apache-2.0
// Healthy: events are appended to a journal, which is cut down to the newest of each device every eight seconds.
'use strict';
const {steadily} = require('./pace.js');

class DeviceEvent {
  constructor(number) {
    this.device = number % 20_000;
    this.at = Date.now();
    this.text = `device ${this.device} reported ${number}`;
  }
}

let journal = [];
steadily(12_000, (number) => journal.push(new DeviceEvent(number)));

function compact() {
  const newest = new Map();
  for (const event of journal) newest.set(event.device, event);
  journal = [...newest.values()];
}

setInterval(compact, 8000);
