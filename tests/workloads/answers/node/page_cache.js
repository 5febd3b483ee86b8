// SPDX-License-Identifier: Apache-2.0
// Healthy: the 3000 pages that were used last stay; rendering leaves garbage.
'use strict';
const {steadily} = require('./pace.js');

class Page {
  constructor(number) {
    this.address = `/articles/${number}`;
    this.parts = Array.from({length: 150}, (_, i) => `part ${i} of ${number}`);
  }
}

const pages = new Map();

function readPage(number) {
  const key = (number * 2654435761) % 9000;
  const page = pages.get(key) || new Page(key);
  pages.delete(key);
  pages.set(key, page);
  if (pages.size > 3000) pages.delete(pages.keys().next().value);
  return page.parts.join('\n').length;
}

steadily(400, readPage);
