// SPDX-License-Identifier: Apache-2.0
// Sends the departures of an airport to the boards of its gates, over TCP. Two boards are frozen: they stay connected and do
// not read. Whether a socket has room is not asked.
'use strict';
const net = require('node:net');
const {steadily} = require('./pace.js');

class Board {
  constructor(socket, gate) {
    this.socket = socket;
    this.gate = gate;
    this.sent = 0;
  }

  show(text) {
    this.socket.write(text);
    this.sent++;
  }
}

class Airport {
  constructor() {
    this.boards = new Set();
  }

  connect(socket) {
    const board = new Board(socket, `gate ${this.boards.size}`);
    this.boards.add(board);
    socket.on('close', () => this.boards.delete(board));
    socket.on('error', () => socket.destroy());
  }

  broadcast(number) {
    const lines = Array.from({length: 12}, (_, n) => ({flight: `OW${(number + n * 17) % 9000}`, minute: (number * 7 + n) % 1440,
      to: `town ${(number + n) % 130}`, remark: n % 4 ? 'on time' : `delayed by ${number % 90} minutes`}));
    for (const board of this.boards) board.show(JSON.stringify({for: board.gate, number, lines}) + '\n');
  }
}

const airport = new Airport();
const server = net.createServer((socket) => airport.connect(socket));
server.listen(0, '127.0.0.1', () => {
  for (let n = 0; n < 8; n++) {
    const client = net.connect(server.address().port, '127.0.0.1');
    if (n < 2) client.pause();
    else client.resume();
  }
  steadily(900, (number) => airport.broadcast(number));
});
