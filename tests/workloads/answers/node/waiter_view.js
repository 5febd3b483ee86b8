// SPDX-License-Identifier: Apache-2.0
// Says which tables of a restaurant are taken. The plan of a floor is never changed: each guest who comes or goes makes the
// floor's next plan, and waiters are told what is different from the one before.
'use strict';
const {steadily} = require('./pace.js');

class FloorPlan {
  constructor(tables, version, previous) {
    this.tables = tables;
    this.version = version;
    this.previous = previous;
  }

  with(number, guests) {
    const tables = this.tables.slice();
    tables[number] = {guests, since: this.version, bill: guests * 23.5 + number / 8};
    return new FloorPlan(tables, this.version + 1, this);
  }

  changes() {
    if (!this.previous) return [];
    return this.tables.map((table, n) => table === this.previous.tables[n] ? null : {n, table}).filter(Boolean);
  }
}

const restaurant = {
  name: 'Station',
  floors: ['ground', 'first', 'terrace'].map((name) => ({
    name,
    plan: new FloorPlan(Array.from({length: 70}, () => ({guests: 0, since: 0, bill: 0})), 0, null),
  })),
};
let told = 0;

steadily(2600, (number) => {
  const floor = restaurant.floors[number % 3];
  floor.plan = floor.plan.with(number * 31 % 70, number % 7);
  told += JSON.stringify(floor.plan.changes()).length;
});
