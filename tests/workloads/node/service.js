// SPDX-License-Identifier: Apache-2.0
// A service that asks itself for reports. MODE sessions: each request keeps a Session for ever; buffers: a Buffer;
// shapes: objects of 200 new classes; healthy: of the sessions the last 40,000. PER_SECOND requests.
'use strict';
const http = require('node:http');

const [mode, perSecond] = [process.argv[2], Number(process.argv[3])];
const kept = new Map(), buffers = [];
let requests = 0;

class Session {
  constructor(id) {
    this.id = id;
    this.user = 'customer-' + id;
    this.started = id * 1.25;
    this.roles = ['reader', id];
    this.basket = Buffer.alloc(240, 'item ').toString('latin1');
  }
}

function report() {
  requests++;
  if (mode === 'buffers') return void buffers.push(Buffer.alloc(128 << 10, 1));
  if (mode === 'shapes') {
    for (let i = 0; i < 200; i++) kept.set(requests * 200 + i, new (class { value = i; })());
    return;
  }
  for (let i = 0; i < 200; i++) kept.set(requests * 200 + i, new Session(requests * 200 + i));
  if (mode === 'healthy' && kept.size > 40000) {
    for (const key of kept.keys()) {
      kept.delete(key);
      if (kept.size <= 40000) break;
    }
  }
}

const server = http.createServer((request, answer) => {
  report();
  answer.end(String(kept.size));
});
const agent = new http.Agent({keepAlive: true, maxSockets: 1});
server.listen(0, '127.0.0.1', () => {
  const {port} = server.address();
  const ask = () => http.get({port, agent}, (answer) => answer.resume().on('end', () => setTimeout(ask, 1000 / perSecond)));
  ask();
});
