// SPDX-License-Identifier: Apache-2.0
// Finds free rooms of hotels, over HTTP. A search is planned once, by its filter, and the plan then goes over all rooms.
'use strict';
const http = require('node:http');
const {steadily} = require('./pace.js');

class SearchPlan {
  constructor(filter) {
    this.filter = filter;
    this.steps = Object.keys(filter).map((field) => ({field, least: filter[field], cost: field.length, tried: []}));
    this.steps.sort((a, b) => a.cost - b.cost);
    this.nights = Array.from({length: filter.nights}, (_, n) => ({day: (filter.from + n) % 365, text: `night ${filter.from + n}`}));
  }

  matches(room) {
    return this.steps.every((step) => room[step.field] === undefined || room[step.field] >= step.least);
  }
}

// So that nothing is planned twice.
function once(plan) {
  const planned = new Map();
  return (filter) => {
    const key = JSON.stringify(filter);
    let found = planned.get(key);
    if (!found) planned.set(key, found = plan(filter));
    return found;
  };
}

const rooms = Array.from({length: 300}, (_, n) => ({beds: 1 + n % 4, floor: n % 9, stars: n % 5, seats: n % 3}));
const planSearch = once((filter) => new SearchPlan(filter));

const server = http.createServer((request, response) => {
  const asked = new URL(request.url, 'http://rooms').searchParams;
  const filter = {beds: Number(asked.get('beds')), stars: Number(asked.get('stars')), from: Number(asked.get('from')),
    nights: Number(asked.get('nights')), until: Number(asked.get('now')) + 900};
  const plan = planSearch(filter);
  const free = rooms.filter((room) => plan.matches(room));
  response.end(JSON.stringify({free: free.length, first: free[0]}));
});

server.listen(0, '127.0.0.1', () => {
  const agent = new http.Agent({keepAlive: true, maxSockets: 8});
  steadily(600, (number) => {
    const path = `/?beds=${number % 4}&stars=${number % 5}&from=${number % 365}&nights=${4 + number % 17}&now=${number}`;
    http.get({port: server.address().port, path, agent}, (answer) => answer.resume()).on('error', () => {});
  });
});
