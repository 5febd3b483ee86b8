// SPDX-License-Identifier: Apache-2.0
// Nothing leaks: a request takes two seconds, in which it holds the rows that it has read. From the 30th second on more and
// more of them come, as every evening: at the end five times as many at once.
'use strict';

class Row {
  constructor(number) {
    this.number = number;
    this.text = `row ${number}`;
    this.values = [number * 0.5, number * 1.5, number * 2.5];
  }
}

const begin = Date.now();
const open = new Set();

function beginRequest(number) {
  const rows = [];
  for (let i = 0; i < 1500; i++) rows.push(new Row(number + i));
  open.add(rows);
  setTimeout(() => open.delete(rows), 2000);
}

let done = 0, due = 0;
setInterval(() => {
  const age = (Date.now() - begin) / 1000;
  due += 0.05 * (age < 30 ? 25 : Math.min(125, 25 + (age - 30) * 4));
  while (done < due) beginRequest(done++);
}, 50);
