// SPDX-License-Identifier: Apache-2.0
// Live scores for many connections, each with a compressor of its own. Who goes away is taken out of its match, and stays
// in the list of those who may come back.
'use strict';
const zlib = require('node:zlib');
const {steadily} = require('./pace.js');

class Connection {
  constructor(number) {
    this.number = number;
    this.deflate = zlib.createDeflateRaw();
    this.sent = 0;
    this.deflate.on('data', (chunk) => this.sent += chunk.length);
  }

  send(text) {
    this.deflate.write(text);
    this.deflate.flush(zlib.constants.Z_SYNC_FLUSH);
  }
}

class Match {
  constructor(number) {
    this.number = number;
    this.watching = new Set();
  }

  score(text) {
    for (const connection of this.watching) connection.send(text);
  }
}

const matches = Array.from({length: 10}, (_, number) => new Match(number));
const resumable = new Map();

function connect(number) {
  const connection = new Connection(number), match = matches[number % matches.length];
  match.watching.add(connection);
  resumable.set(`resume-${number}`, connection);
  setTimeout(() => match.watching.delete(connection), 4000);
}

steadily(9, connect);
steadily(4, (number) => {
  matches[number % matches.length].score(JSON.stringify({minute: number, goals: [number % 5, number % 3]}));
});
