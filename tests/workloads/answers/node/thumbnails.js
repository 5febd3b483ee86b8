// SPDX-License-Identifier: Apache-2.0
// Thumbnails are kept as Buffers in a Map by the picture's name and its version, which is new at each upload.
'use strict';
const {steadily} = require('./pace.js');

class ThumbnailStore {
  byVersion = new Map();
  add(picture, version) {
    const pixels = Buffer.alloc(64 * 64 * 3);
    for (let i = 0; i < pixels.length; i += 64) pixels[i] = version & 255;
    this.byVersion.set(`${picture}@${version}`, pixels);
  }
}

const store = new ThumbnailStore();
steadily(200, (number) => store.add(`picture-${number % 80}.jpg`, number));
