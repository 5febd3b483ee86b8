// SPDX-License-Identifier: Apache-2.0
// A request waits for a lock that the first one never gives back; its body waits with it.
'use strict';
const {steadily} = require('./pace.js');

const never = new Promise(() => {});

async function readStock(number) {
  const rows = [];
  for (let i = 0; i < 60; i++) rows.push({shelf: `shelf ${number % 40}`, article: number * 60 + i, left: i * 0.5});
  await never;
  return rows.length;
}

steadily(300, (number) => { readStock(number); });
