// SPDX-License-Identifier: Apache-2.0
// Small documents are read and forgotten. In the 22nd second someone asks for an archive of all, which is made in memory.
'use strict';
const {steadily} = require('./pace.js');

class ArchiveEntry {
  constructor(name, data) {
    this.name = name;
    this.data = data;
  }
}

function readDocument(number) {
  return Buffer.alloc(50_000 + number * 7919 % 40_000, `document ${number} `);
}

async function buildArchive(documents) {
  const entries = [];
  for (let i = 0; i < documents; i++) {
    entries.push(new ArchiveEntry(`document-${i}.txt`, readDocument(i)));
    if (i % 5 === 0) await new Promise((done) => setTimeout(done, 3));
  }
  return Buffer.concat(entries.map((entry) => entry.data));
}

let bytes = 0;
steadily(80, (number) => { bytes += readDocument(number).length; });
setTimeout(() => buildArchive(6000), 22_000);
