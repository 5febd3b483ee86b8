// SPDX-License-Identifier: Apache-2.0
// Which page an address is. To add one: a module that exports show(parts, query), and a line here and in assets.cc.
import { failure, show } from './dom.js';
import * as compare from './compare.js';
import * as flame from './flame.js';
import * as health from './health.js';
import * as incident from './incident.js';
import * as list from './list.js';
import * as now from './now.js';

const PAGES = [
  [/^\/$/, list],
  [/^\/i\/([^/]+)$/, incident],
  [/^\/i\/([^/]+)\/flame$/, flame],
  [/^\/i\/([^/]+)\/diff$/, flame.diff],
  [/^\/compare$/, compare],
  [/^\/now$/, now],
  [/^\/health$/, health],
];

async function start() {
  for (const link of document.querySelectorAll('nav a')) {
    if (link.getAttribute('href') === location.pathname) link.setAttribute('aria-current', 'page');
  }
  for (const [pattern, page] of PAGES) {
    const parts = pattern.exec(location.pathname);
    if (parts) return page.start(parts.slice(1).map(decodeURIComponent), new URLSearchParams(location.search));
  }
  throw new Error('There is no such page.');
}

start().catch((error) => show('Error', failure(error)));
