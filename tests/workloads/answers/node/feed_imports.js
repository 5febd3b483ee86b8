// SPDX-License-Identifier: Apache-2.0
// Imports price lists of suppliers, a hundred and fifty in a second, and compares each with the prices of the day before. When the
// service stops, the imports under way are broken off.
'use strict';
const {EventEmitter, setMaxListeners} = require('node:events');
const {steadily} = require('./pace.js');

class PriceImport {
  constructor(supplier, shutdown) {
    this.supplier = supplier;
    this.prices = Array.from({length: 1000}, (_, n) => (supplier * 7919 + n * 104729) % 100_000 / 100);
    this.dearer = 0;
    this.stopped = false;
    shutdown.addEventListener('abort', () => this.stop());
  }

  stop() {
    this.stopped = true;
  }

  compare(before) {
    for (let n = 0; n < this.prices.length && !this.stopped; n++) {
      if (this.prices[n] > before[n]) this.dearer++;
    }
    return this.dearer;
  }
}

class ImportService extends EventEmitter {
  constructor() {
    super();
    this.stopping = new AbortController();
    this.yesterday = Array.from({length: 1000}, (_, n) => n * 6);
    process.once('SIGTERM', () => {
      this.stopping.abort();
      setTimeout(() => process.exit(), 100);
    });
  }

  async import(supplier) {
    const list = new PriceImport(supplier, this.stopping.signal);
    await new Promise((resolve) => setTimeout(resolve, 30));
    this.emit('imported', supplier, list.compare(this.yesterday));
  }
}

setMaxListeners(0);
const service = new ImportService();
let dearer = 0;
service.on('imported', (_, more) => dearer += more);
steadily(150, (number) => service.import(number % 5000));
