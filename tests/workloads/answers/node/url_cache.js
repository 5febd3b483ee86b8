// SPDX-License-Identifier: Apache-2.0
// Rendered pages by their whole address. A tenth of the addresses come again, the others are new.
'use strict';
const {steadily} = require('./pace.js');

const pages = new Map();

function renderPage(url) {
  let page = pages.get(url);
  if (!page) {
    page = {url, html: `<p>${url}</p>`.padEnd(1200, '.').split('').reverse().join(''), at: Date.now()};
    pages.set(url, page);
  }
  return page;
}

steadily(2600, (number) => renderPage(`/search?q=${number % 10 ? number : 7}&page=1`));
