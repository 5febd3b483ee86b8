// SPDX-License-Identifier: Apache-2.0
// A consumer that races each message against one promise for the process's shutdown, which never settles.
'use strict';
const shutdown = new Promise(resolve => process.once('SIGTERM', resolve));
class StockMessage {
  constructor(id) {
    this.id = id; this.key = 'item-' + id;
    this.payload = Array.from({ length: 500 }, (_, i) => (id * 31 + i) % 1000);
    this.headers = { trace: 't' + id, source: 'warehouse' };
  }
}
let next = 0, seen = 0;
function receive() { return new Promise(resolve => setImmediate(() => resolve(new StockMessage(next++)))); }
function applyStock(message) { seen += message.payload.length; }
async function consume() {
  for (;;) {
    for (let i = 0; i < 12; i++) {
      const message = await Promise.race([shutdown, receive()]);
      if (!(message instanceof StockMessage)) return;
      applyStock(message);
    }
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}
consume();
