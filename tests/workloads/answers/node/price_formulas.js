// SPDX-License-Identifier: Apache-2.0
// Computes prices by the formulas of merchants. A formula runs in WebAssembly, with a memory of its own, so that one merchant
// cannot read what another has put in; a merchant who changes a formula gets a new version of it.
'use strict';
const {steadily} = require('./pace.js');

// (module (import "env" "memory" (memory 1)) (func (export "price") (param i32) (result i32) local.get 0 i32.load))
const code = new WebAssembly.Module(Uint8Array.from([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 6, 1, 96, 1, 127, 1, 127, 2, 15, 1, 3, 101, 110, 118, 6, 109, 101, 109, 111, 114, 121, 2, 0, 1,
  3, 2, 1, 0, 7, 9, 1, 5, 112, 114, 105, 99, 101, 0, 0, 10, 9, 1, 7, 0, 32, 0, 40, 2, 0, 11]));

class FormulaSandbox {
  constructor(merchant, version) {
    this.merchant = merchant;
    this.version = version;
    this.memory = new WebAssembly.Memory({initial: 1, maximum: 1});
    this.instance = new WebAssembly.Instance(code, {env: {memory: this.memory}});
    const table = new Int32Array(this.memory.buffer);
    for (let n = 0; n < table.length; n++) table[n] = merchant * 31 + version * 7 + n;
  }

  price(article) {
    return this.instance.exports.price(article % 16000 * 4);
  }
}

class Merchants {
  constructor() {
    this.sandboxes = new Map();
    this.versions = new Array(60).fill(0);
  }

  openSandbox(merchant) {
    const key = `${merchant}/${this.versions[merchant]}`;
    let sandbox = this.sandboxes.get(key);
    if (!sandbox) this.sandboxes.set(key, sandbox = new FormulaSandbox(merchant, this.versions[merchant]));
    return sandbox;
  }

  changeFormula(merchant) {
    this.versions[merchant]++;
  }
}

const merchants = new Merchants();
let turnover = 0;
steadily(1500, (number) => {
  if (number % 50 === 0) merchants.changeFormula(number / 50 % 60);
  const offer = {merchant: number * 7 % 60, articles: Array.from({length: 20}, (_, n) => number * 31 + n)};
  const sandbox = merchants.openSandbox(offer.merchant);
  turnover += offer.articles.reduce((sum, article) => sum + sandbox.price(article), 0);
});
