// SPDX-License-Identifier: Apache-2.0
// Nothing leaks: an index of all articles is replaced every five seconds, the next one built beside the old. From the 30th
// second on there are more articles each time, up to two thirds more.
'use strict';

class Posting {
  constructor(article) {
    this.article = article;
    this.weight = article / 7;
    this.words = ['w' + article, 'v' + article];
  }
}

function buildIndex(articles) {
  const index = new Map();
  for (let i = 0; i < articles; i++) index.set(i, new Posting(i));
  return index;
}

const begin = Date.now();
let index = buildIndex(110000);
function replaceIndex() {
  const age = (Date.now() - begin) / 1000;
  index = buildIndex(110000 + Math.round(Math.min(75000, Math.max(0, age - 30) * 4000)));
  setTimeout(replaceIndex, age < 30 ? 5000 : 2000);
}
replaceIndex();
