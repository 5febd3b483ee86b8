// SPDX-License-Identifier: Apache-2.0
// A flame graph on a canvas: 20,000 frames are drawn in a few milliseconds, because what is narrower than a pixel is
// left out, and what is beside the view is not visited. Root at the top. Zoom is the rank of each child on the way,
// "0.2.1", so a link to it stays short; a drag or a sideways wheel moves the view to its neighbours. Fingers drag, pinch, and tap
// to select; a tap on what is selected zooms.
import { h } from './dom.js';
import { onFingers } from './fingers.js';
import { amount, percent } from './format.js';

const ROW = 20, LEAST = 0.6, CHAR = 7.0, MOST_ROWS = 256, SLACK = 4, LEAST_SPAN = 1e-5; // of the whole

// As flame_color.cc: the same module has the same hue in every picture.
function hueOf(text) {
  let hash = 2166136261;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 16777619) >>> 0;
  return hash % 360;
}

const RUNTIME = /^(internal\/)?runtime(\/|$)/; // grey, as in flame_color.cc
const shortName = (name) => name.replace(/^[^[(]*\//, '');

export class FlameGraph {
  constructor(place, flame, onSearch) {
    this.flame = flame;
    this.unit = flame.unit;
    this.isDiff = flame.mode !== 'held';
    this.onSearch = onSearch;
    this.build(flame);
    this.canvas = h('canvas', { tabindex: 0, role: 'img', 'aria-label': `Flame graph: ${flame.title}. The table below has the same figures.` });
    this.tip = h('div', { class: 'tip', 'aria-live': 'polite' });
    place.replaceChildren(this.canvas, this.tip);
    this.found = null;
    this.look(this.frames[0] || null);
    this.selected = this.root;
    this.listen();
    if (!this.root) this.tip.textContent = 'Nothing to draw: no stack holds anything here.';
    this.fromHash();
    new ResizeObserver(() => this.draw()).observe(place);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
  }

  build(flame) {
    this.frames = flame.frames.map(([depth, name, start, size, net, folded]) => ({ depth, name, start, size, net, folded, self: size, children: [], parent: null }));
    const ordered = this.frames.slice().sort((a, b) => a.depth - b.depth || a.start - b.start);
    const rows = [];
    for (const frame of ordered) (rows[frame.depth] = rows[frame.depth] || []).push(frame);
    for (let depth = 1; depth < rows.length; ++depth) {
      let at = 0;
      for (const frame of rows[depth]) {
        while (at + 1 < rows[depth - 1].length && rows[depth - 1][at + 1].start <= frame.start) ++at;
        frame.parent = rows[depth - 1][at];
        frame.parent.children.push(frame);
        frame.parent.self -= frame.size;
      }
    }
    this.rows = rows;
    this.hues = flame.names.map(([name, module]) => (RUNTIME.test(module) ? null : hueOf(module || name)));
  }

  nameOf(frame) {
    if (frame.name >= 0) return this.flame.names[frame.name][0];
    return frame.name === -1 ? 'all' : frame.name === -2 ? `(${frame.folded} more)` : '(deeper calls)';
  }

  textOf(frame) {
    const total = Math.abs(this.flame.reference) || this.frames[0].size;
    const value = this.isDiff && frame.net > 0 ? `+${amount(frame.net, this.unit)}` : amount(frame.net, this.unit);
    return `${this.nameOf(frame)}: ${value}, ${percent(Math.abs(frame.net) / total)}${this.isDiff ? ' of the earlier total' : ''}${frame.self > 0 && frame.self < frame.size ? `, its own ${amount(frame.self, this.unit)}` : ''}`;
  }

  colour(frame, dark) {
    if (this.found && !this.found.has(frame)) return dark ? '#3a3f47' : '#e3e6ea';
    if (this.isDiff && frame.name !== -1) {
      const share = frame.size ? Math.abs(frame.net) / frame.size : 0;
      const hue = frame.net < 0 ? 212 : 8;
      return dark ? `hsl(${hue} 60% ${26 + 16 * share}%)` : `hsl(${hue} 80% ${93 - 19 * share}%)`;
    }
    if (frame.name < 0 || this.hues[frame.name] === null) return dark ? '#4a505a' : '#d9dde2';
    return dark ? `hsl(${this.hues[frame.name]} 38% 33%)` : `hsl(${this.hues[frame.name]} 60% 80%)`;
  }

  get isZoomed() { return this.span < this.frames[0].size; }

  get dark() { return matchMedia('(prefers-color-scheme: dark)').matches; }

  draw() {
    if (!this.root) return;
    const width = this.canvas.parentElement.clientWidth, rows = Math.min(MOST_ROWS, this.rows.length), ratio = devicePixelRatio || 1;
    if (width < 10) return;
    this.canvas.width = width * ratio;
    this.canvas.height = rows * ROW * ratio;
    this.canvas.style.height = `${rows * ROW}px`;
    const paint = this.canvas.getContext('2d');
    paint.scale(ratio, ratio);
    paint.font = '12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';
    paint.textBaseline = 'middle';
    const dark = this.dark, left = this.left, right = left + this.span, scale = width / this.span;
    this.scale = scale;
    this.drawn = this.visited = 0;
    for (let depth = 0; depth < rows; ++depth) {
      const row = this.rows[depth];
      for (let i = this.firstAfter(row, left); i < row.length && row[i].start < right; ++i) {
        const frame = row[i], start = Math.max(frame.start, left), wide = (Math.min(frame.start + frame.size, right) - start) * scale;
        ++this.visited;
        if (wide >= LEAST) this.paint(paint, frame, (start - left) * scale, depth * ROW, Math.max(1, wide - 1), dark, depth < this.root.depth);
      }
    }
    Object.assign(this.canvas.dataset, { drawn: this.drawn, visited: this.visited, left, span: this.span });
  }

  // The place in a row of the first frame that ends after `value`.
  firstAfter(row, value) {
    let low = 0, high = row.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (row[middle].start + row[middle].size <= value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  pan(pixels) {
    if (!this.root || !this.scale) return;
    this.left = Math.min(this.frames[0].size - this.span, Math.max(0, this.left + pixels / this.scale));
    this.drawSoon();
  }

  // Shows `factor` of the width shown now; what is at x, in pixels of the window, stays there. The address names the smallest frame around it.
  scaleBy(factor, x) {
    if (!this.root || !this.scale) return;
    const whole = this.frames[0], at = x - this.canvas.getBoundingClientRect().left, fixed = this.left + at / this.scale;
    this.scale *= this.span;
    this.span = Math.min(whole.size, Math.max(whole.size * LEAST_SPAN, this.span * factor));
    this.scale /= this.span;
    this.left = Math.min(whole.size - this.span, Math.max(0, fixed - at / this.scale));
    const isAround = (frame) => frame.start <= this.left && this.left + this.span <= frame.start + frame.size;
    this.root = whole;
    for (let inner = whole; inner; inner = inner.children.find(isAround)) if (inner.size < this.root.size) this.root = inner;
    this.drawSoon();
  }

  drawSoon() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.draw(); });
  }

  // What a zoom shows: the frame fills the width.
  look(frame) {
    this.root = frame;
    this.left = frame ? frame.start : 0;
    this.span = frame ? frame.size : 0;
  }

  paint(paint, frame, x, y, wide, dark, isAbove) {
    ++this.drawn;
    paint.globalAlpha = isAbove ? 0.6 : 1;
    paint.fillStyle = this.colour(frame, dark);
    paint.fillRect(x, y, wide, ROW - 1);
    if (frame.self > 0 && frame.children.length && !isAbove) { // its own bytes, shaded at its right end
      const end = frame.start + frame.size, own = Math.min(wide, (Math.min(end, this.left + this.span) - end + frame.self) * this.scale);
      paint.fillStyle = dark ? 'rgba(255,255,255,.13)' : 'rgba(0,0,0,.10)';
      if (own > 0) paint.fillRect(x + wide - own, y, own, ROW - 1);
    }
    if (frame === this.selected) {
      paint.strokeStyle = dark ? '#fff' : '#111';
      paint.lineWidth = 1.5;
      paint.strokeRect(x + 0.75, y + 0.75, Math.max(1, wide - 1.5), ROW - 2.5);
    }
    const room = Math.floor((wide - 8) / CHAR);
    if (room >= 3) {
      const name = this.nameOf(frame), brief = name.length <= room ? name : shortName(name);
      paint.fillStyle = dark ? '#f2f4f7' : '#14171a';
      paint.fillText(brief.length <= room ? brief : `${brief.slice(0, room - 1)}…`, x + 4, y + ROW / 2);
    }
    paint.globalAlpha = 1;
  }

  at(event) {
    if (!this.root) return null;
    const box = this.canvas.getBoundingClientRect(), depth = Math.floor((event.clientY - box.top) / ROW);
    const value = this.left + (event.clientX - box.left) / this.scale, row = this.rows[depth] || [], frame = row[this.firstAfter(row, value)];
    return frame && frame.start <= value ? frame : null;
  }

  listen() {
    this.canvas.addEventListener('mousemove', (event) => { const frame = this.at(event); this.tip.textContent = frame ? this.textOf(frame) : ''; });
    this.canvas.addEventListener('click', (event) => { const frame = this.at(event); if (frame && !this.dragged && !this.touched) this.zoom(frame); });
    this.canvas.addEventListener('pointerdown', (event) => {
      this.dragged = false;
      this.touched = event.pointerType === 'touch';
      this.grip = event.button === 0 && !this.touched ? event.clientX : null;
    });
    this.canvas.addEventListener('pointermove', (event) => this.drag(event));
    for (const name of ['pointerup', 'pointercancel']) this.canvas.addEventListener(name, () => { this.grip = null; });
    this.canvas.addEventListener('wheel', (event) => {
      const sideways = event.shiftKey ? event.deltaY : event.deltaX;
      if (event.ctrlKey || event.metaKey || Math.abs(sideways) < Math.abs(event.shiftKey ? event.deltaX : event.deltaY) || !this.isZoomed) return;
      event.preventDefault();
      this.pan(sideways);
    }, { passive: false });
    onFingers(this.canvas, { drag: (pixels) => this.pan(-pixels), zoom: (factor, x) => this.scaleBy(factor, x), tap: (event) => this.tap(event), end: () => this.remember() });
    this.canvas.addEventListener('keydown', (event) => this.key(event));
    window.addEventListener('hashchange', () => { if (this.canvas.isConnected) { this.fromHash(); this.draw(); } });
  }

  drag(event) {
    if (this.grip === null || this.grip === undefined || !(event.buttons & 1)) return;
    const moved = this.grip - event.clientX;
    if (!this.dragged && Math.abs(moved) < SLACK) return;
    if (!this.dragged) this.canvas.setPointerCapture(event.pointerId); // a click keeps its target
    this.dragged = true;
    this.grip = event.clientX;
    this.pan(moved);
  }

  tap(event) {
    const frame = this.at(event);
    if (frame && frame === this.selected) this.zoom(frame);
    else this.select(frame);
  }

  key(event) {
    const frame = this.selected;
    if (!frame || event.ctrlKey || event.metaKey || event.altKey) return;
    const siblings = frame.parent ? frame.parent.children : [frame], at = siblings.indexOf(frame);
    const act = { ArrowUp: () => this.select(frame.parent), ArrowDown: () => this.select(frame.children[0]), ArrowLeft: () => this.select(siblings[at - 1]), ArrowRight: () => this.select(siblings[at + 1]),
      Enter: () => this.zoom(frame), Escape: () => this.reset(), '/': () => this.onSearch() }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  select(frame) {
    if (!frame) return;
    this.selected = frame;
    const isSeen = frame.start < this.left + this.span && this.left < frame.start + frame.size;
    if (!isSeen) this.look(frame.size < this.span && frame.parent ? frame.parent : frame);
    this.tip.textContent = this.textOf(frame);
    this.draw();
  }

  zoom(frame) {
    this.look(frame);
    this.selected = frame;
    this.remember();
    this.tip.textContent = this.textOf(frame);
    this.draw();
  }

  remember() {
    const ranks = [];
    for (let f = this.root; f && f.parent; f = f.parent) ranks.unshift(f.parent.children.indexOf(f));
    history.replaceState(null, '', location.pathname + location.search + (ranks.length ? `#zoom=${ranks.join('.')}` : ''));
  }

  reset() { if (this.frames[0]) this.zoom(this.frames[0]); }

  fromHash() {
    const wanted = /^#zoom=([0-9]+(?:\.[0-9]+){0,255})$/.exec(location.hash);
    let frame = this.frames[0];
    for (const rank of wanted ? wanted[1].split('.') : []) frame = (frame && frame.children[Number(rank)]) || frame;
    this.look(frame || null);
    this.selected = this.root;
  }

  // The share of the whole that stacks through a matching frame have; each stack counts once.
  search(text) {
    const wanted = text.trim().toLowerCase();
    this.found = wanted ? new Set(this.frames.filter((f) => f.name >= 0 && this.nameOf(f).toLowerCase().includes(wanted))) : null;
    let sum = 0;
    for (const frame of this.found || []) {
      let above = frame.parent;
      while (above && !this.found.has(above)) above = above.parent;
      if (!above) sum += frame.size;
    }
    this.draw();
    return this.frames.length ? sum / this.frames[0].size : 0;
  }

  top(count) {
    const sums = new Map();
    for (const frame of this.frames) {
      if (frame.name < 0) continue;
      const row = sums.get(frame.name) || { name: this.nameOf(frame), self: 0, size: 0 };
      row.self += Math.max(0, frame.self);
      let above = frame.parent;
      while (above && above.name !== frame.name) above = above.parent;
      if (!above) row.size += frame.size;
      sums.set(frame.name, row);
    }
    const whole = this.frames.length ? this.frames[0].size : 1;
    return [...sums.values()].sort((a, b) => b.self - a.self || b.size - a.size).slice(0, count).map((row) => ({ ...row, share: row.self / whole }));
  }
}
