// SPDX-License-Identifier: Apache-2.0
// Reads captured packets in pieces of 16 KiB and keeps the header of each flow's first packet, which is a view of the whole
// piece that it came in.
'use strict';
const {steadily} = require('./pace.js');

class FlowRecord {
  constructor(key, header) {
    this.key = key;
    this.header = header;
    this.packets = 0;
  }
}

class FlowTable {
  constructor() {
    this.flows = new Map();
  }

  addPacket(key, packet) {
    let flow = this.flows.get(key);
    if (!flow) this.flows.set(key, flow = new FlowRecord(key, packet.subarray(0, 40)));
    flow.packets++;
  }
}

// Pieces as a driver would hand them over: eight packets of 2 KiB. One piece in three begins a flow.
function capturePiece(number) {
  const piece = Buffer.allocUnsafeSlow(16384);
  piece.fill(number & 255);
  for (let n = 0; n < 8; n++) {
    piece.writeUInt32BE(n === 5 && number % 3 === 0 ? 1_000_000 + number : (number * 8 + n) % 500, n * 2048);
  }
  return piece;
}

const table = new FlowTable();
steadily(390, (number) => {
  const piece = capturePiece(number);
  for (let start = 0; start < piece.length; start += 2048) {
    table.addPacket(piece.readUInt32BE(start), piece.subarray(start, start + 2048));
  }
});
