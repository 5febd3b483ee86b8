// SPDX-License-Identifier: Apache-2.0
// Ships log lines to a backend that does not answer: they wait in a queue.
'use strict';
const {steadily} = require('./pace.js');

class LogLine {
  constructor(number) {
    this.time = new Date();
    this.text = `GET /articles/${number} 200`;
    this.labels = {app: 'shop', pod: `shop-${number % 9}`, path: `/articles/${number}`};
  }
}

const queue = [];
steadily(9000, (number) => queue.push(new LogLine(number)));
