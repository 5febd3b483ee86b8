// SPDX-License-Identifier: Apache-2.0
// Rents boats by the minute: a trip has the places where its boat was, and ends after five to nine seconds. Of the trips that
// are over, the bills of the last six hundred may be looked at.
'use strict';
const {steadily} = require('./pace.js');

class Trip {
  constructor(number, now) {
    this.number = number;
    this.ends = now + 5000 + number * 7919 % 4000;
    this.places = [];
    for (let n = 0; n < 12; n++) this.places.push({x: number * 0.5 + n, y: number * 0.25 - n, at: now + n});
  }

  bill() {
    return `Trip ${number(this.number)}: ${this.places.length} places, ${this.places.map((place) => place.x).join(' ')}`;
  }
}

const number = (n) => String(n).padStart(9, '0');

class Harbour {
  constructor() {
    this.trips = new Map();
    this.bills = [];
  }

  begin(trip) {
    this.trips.set(trip.number, trip);
  }

  endTrips(now) {
    for (const trip of this.trips.values()) {
      if (trip.ends > now) continue;
      this.trips.delete(trip.number);
      this.bills.push(trip.bill());
      if (this.bills.length > 600) this.bills.shift();
    }
  }
}

const harbour = new Harbour();
steadily(2000, (n) => {
  const now = Date.now();
  harbour.begin(new Trip(n, now));
  if (n % 100 === 0) harbour.endTrips(now);
});
