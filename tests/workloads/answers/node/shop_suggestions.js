// SPDX-License-Identifier: Apache-2.0
// Suggests what a shop's customer may want to type, over HTTP. What customers search for is learnt, so that frequent words
// are suggested first.
'use strict';
const http = require('node:http');
const {steadily} = require('./pace.js');

class WordNode {
  constructor(letter) {
    this.letter = letter;
    this.count = 0;
    this.next = new Map();
  }
}

class Suggestions {
  constructor() {
    this.root = new WordNode('');
  }

  learn(text) {
    let node = this.root;
    for (const letter of text) {
      let following = node.next.get(letter);
      if (!following) node.next.set(letter, following = new WordNode(letter));
      node = following;
    }
    node.count++;
  }

  after(begun) {
    let node = this.root;
    for (const letter of begun) node = node?.next.get(letter);
    const found = [];
    for (let open = node ? [[node, begun]] : []; open.length && found.length < 8;) {
      const [at, text] = open.pop();
      if (at.count) found.push(text);
      for (const [letter, following] of at.next) if (open.length < 60) open.push([following, text + letter]);
    }
    return found;
  }
}

const articles = ['table', 'tent', 'lamp', 'ladder', 'bed', 'bench', 'chair', 'carpet', 'shelf', 'sofa'];
const shop = {name: 'Furniture', search: {language: 'en', suggestions: new Suggestions()}};

const server = http.createServer((request, response) => {
  const asked = new URL(request.url, 'http://shop').searchParams.get('q');
  shop.search.suggestions.learn(asked);
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(shop.search.suggestions.after(asked.slice(0, 3))));
});

server.listen(0, '127.0.0.1', () => {
  const agent = new http.Agent({keepAlive: true, maxSockets: 8});
  steadily(640, (number) => {
    // Every second search is for a parcel of an order.
    const code = (factor) => (number * factor % 4294967296).toString(36).padStart(7, '0');
    const q = number % 2 ? `${articles[number % 10]} ${articles[number * 7 % 10]}` : `order ${code(2654435761)} parcel ${code(2246822519)}`;
    http.get({port: server.address().port, path: `/?q=${encodeURIComponent(q)}`, agent}, (answer) => answer.resume())
      .on('error', () => {});
  });
});
