// SPDX-License-Identifier: Apache-2.0
'use strict';   // clients of case 09: one more stays connected every 150 ms
const { WebSocket } = require('ws');
let n = 0; const all = [];
setInterval(() => {
  const s = new WebSocket('ws://127.0.0.1:' + process.argv[2] + '/room' + (n++ % 5), { perMessageDeflate: true });
  s.on('open', () => s.send('hello from ' + n + ' '.repeat(300))); s.on('error', () => {}); all.push(s);
}, +process.argv[3] || 150);
