// SPDX-License-Identifier: Apache-2.0
// Lists of shipments: a small one is imported every half second, and after 20 seconds that of a whole year.
'use strict';

class Shipment {
  constructor(fields) {
    this.number = fields[0];
    this.weight = Number(fields[1]);
    this.stops = fields.slice(2);
  }
}

function importShipments(lines) {
  const shipments = [];
  for (let i = 0; i < lines; i++) {
    shipments.push(new Shipment(`${i};${i % 97};harbour ${i % 31};depot ${i % 17};door ${i}`.split(';')));
  }
  return shipments.length;
}

const begin = Date.now();
setInterval(() => importShipments(Date.now() - begin < 20000 ? 3000 : 5000000), 500);
