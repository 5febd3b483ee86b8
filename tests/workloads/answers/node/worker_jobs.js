// SPDX-License-Identifier: Apache-2.0
// A worker thread for each job; when the job is done nobody ends the worker, which waits for messages.
'use strict';
const {Worker, isMainThread, parentPort} = require('node:worker_threads');
const {steadily} = require('./pace.js');

const workers = [];

function startJob() {
  workers.push(new Worker(__filename));
}

if (isMainThread) {
  steadily(1, startJob);
} else {
  const rows = Array.from({length: 20000}, (_, i) => ({id: i, name: 'row ' + i}));
  parentPort.on('message', () => rows.length);
}
