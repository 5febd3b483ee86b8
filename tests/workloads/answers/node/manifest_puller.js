// SPDX-License-Identifier: Apache-2.0
// Pulls the manifests of images, each raced against the end of the process: the promise of that remembers every race.
'use strict';
const {steadily} = require('./pace.js');

class Layer {
  constructor(number) {
    this.digest = `sha256:${(number * 2654435761 % 4294967296).toString(16).padStart(8, '0')}`;
    this.size = 1000 + number % 90000;
  }
}

class Manifest {
  constructor(number) {
    this.image = `registry/team-${number % 40}/service:${number}`;
    this.layers = Array.from({length: 24}, (_, n) => new Layer(number * 24 + n));
  }
}

const shutdown = new Promise((resolve) => process.once('SIGTERM', resolve));

const pullManifest = (number) => new Promise((resolve) => setTimeout(() => resolve(new Manifest(number)), 30));

let pulled = 0;

async function scanImage(number) {
  const manifest = await Promise.race([pullManifest(number), shutdown]);
  if (manifest) pulled += manifest.layers.reduce((sum, layer) => sum + layer.size, 0);
}

steadily(700, scanImage);
