// SPDX-License-Identifier: Apache-2.0
// Reports of a day for 20 seconds, each forgotten; then one of the whole year.
'use strict';

class Booking {
  constructor(number) {
    this.number = number;
    this.account = 'account ' + number;
    this.amounts = [number * 1.5, number * 2.5, number * 3.5];
  }
}

function makeReport(bookings) {
  const rows = [];
  for (let i = 0; i < bookings; i++) rows.push(new Booking(i));
  return JSON.stringify(rows).length;
}

let made = 0;
const timer = setInterval(() => {
  makeReport(10000);
  if (++made === 40) {
    clearInterval(timer);
    makeReport(20000000);
  }
}, 500);
