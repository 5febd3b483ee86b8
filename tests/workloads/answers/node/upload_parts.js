// SPDX-License-Identifier: Apache-2.0
// The parts of uploads are kept until the upload is complete; most are broken off.
'use strict';
const {steadily} = require('./pace.js');

const uploads = new Map();

function receivePart(number) {
  const id = number >> 2;
  if (!uploads.has(id)) uploads.set(id, []);
  uploads.get(id).push(Buffer.alloc(48 << 10, number));
  if (uploads.get(id).length === 4 && id % 8 === 0) uploads.delete(id);
}

steadily(70, receivePart);
