// SPDX-License-Identifier: Apache-2.0
// A chat server with compressed web sockets: each open connection owns a deflate and an inflate state, outside of V8's heap.
'use strict';
const { WebSocketServer } = require('ws');
const rooms = new Map();
const server = new WebSocketServer({ port: +process.argv[2], host: '127.0.0.1', perMessageDeflate: { threshold: 0 } });
server.on('connection', (socket, request) => {
  const room = request.url;
  if (!rooms.has(room)) rooms.set(room, new Set());
  rooms.get(room).add(socket);
  socket.on('message', data => socket.send('echo ' + data));
  socket.on('close', () => rooms.get(room).delete(socket));
});
