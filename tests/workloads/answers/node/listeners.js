// SPDX-License-Identifier: Apache-2.0
// Each request listens for a change of the settings, and never stops to.
'use strict';
const {EventEmitter} = require('node:events');
const {steadily} = require('./pace.js');

const settings = new EventEmitter();
settings.setMaxListeners(0);

class RequestContext {
  constructor(number) {
    this.number = number;
    this.headers = {host: 'shop.example', agent: 'browser ' + number, cookie: ('c' + number).repeat(40)};
    this.steps = new Array(60).fill(number + 0.5);
  }
}

function handleRequest(number) {
  const context = new RequestContext(number);
  settings.on('change', () => context.steps.push(0));
}

steadily(2500, handleRequest);
