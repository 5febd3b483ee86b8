// SPDX-License-Identifier: Apache-2.0
// Calls step(number) at a steady rate.
'use strict';

exports.steadily = (perSecond, step) => {
  const begin = process.hrtime.bigint();
  let number = 0;
  setInterval(() => {
    const due = Number(process.hrtime.bigint() - begin) / 1e9 * perSecond;
    while (number < due) step(number++);
  }, 20);
};
