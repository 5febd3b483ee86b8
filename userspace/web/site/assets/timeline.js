// SPDX-License-Identifier: Apache-2.0
// Memory over time as SVG: drag, wheel, or + and - zoom; arrows move; Escape shows all. Fingers drag, pinch, and tap to read a
// sample; a second tap on it zooms in.
import { append, h, s } from './dom.js';
import { isHandheld, onFingers } from './fingers.js';
import { bytes, duration } from './format.js';

const HEIGHT = 300, LEFT = 78, RIGHT = 14, TOP = 16, BOTTOM = 34;
const STEPS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400];

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] || 0;
const step = (span, wanted) => STEPS.find((one) => span / one <= wanted) || 604800;

// A round number of a binary unit, at most five ticks.
function byteStep(most) {
  let one = 1024;
  while (most / one > 5) one *= most / one > 2560 ? 1024 : 2;
  return one;
}

// Runs of points without a gap; a point alone is a run too. As in timeline.svg: idle containers are read each 10 s.
function runs(points) {
  const gap = Math.max(25, 3 * median(points.slice(1).map((p, i) => p.t - points[i].t)));
  const out = [];
  points.forEach((point, i) => {
    if (i === 0 || point.t - points[i - 1].t > gap) out.push([]);
    out[out.length - 1].push(point);
  });
  return out;
}

export function timeline(incident) {
  const end = Date.parse(incident.time) / 1000;
  const at = (time) => Date.parse(time) / 1000 - end;
  const usage = (incident.series || []).map((p) => ({ t: at(p.t), usage: p.usage_bytes, fixed: p.nonreclaimable_bytes })).sort((a, b) => a.t - b.t);
  if (!usage.length) return null;
  const limit = incident.limit && incident.limit.bytes;
  const captures = (incident.captures || []).filter((c) => c.result === 'ok').map((c) => ({ t: at(c.time), name: `${c.method} capture`, usage: c.usage_bytes }));
  const top = Math.max(limit || 0, ...usage.map((p) => p.usage)) * 1.06;
  const all = [Math.min(usage[0].t, ...captures.map((c) => c.t)), Math.max(0, usage[usage.length - 1].t, ...captures.map((c) => c.t))];
  if (all[1] - all[0] < 0.1) all[0] = all[1] - 0.1;
  const pad = (all[1] - all[0]) * 0.03;
  const whole = [all[0] - pad, all[1] + pad];
  let range = whole.slice(), pointed = null, width = 960; // one unit is one pixel, so that text has its size on a phone

  const plot = s('g', {}), marked = s('rect', { class: 'marked', y: TOP, height: HEIGHT - TOP - BOTTOM, visibility: 'hidden' });
  const cross = s('line', { class: 'cross', y1: TOP, y2: HEIGHT - BOTTOM, visibility: 'hidden', 'clip-path': 'url(#plot)' });
  const frame = s('rect', { x: LEFT, y: 0, height: HEIGHT - BOTTOM });
  const svg = s('svg', { class: 'timeline', tabindex: 0, role: 'img',
    'aria-label': `Memory before the kill: ${usage.length} samples over ${duration(all[1] - all[0])}, at most ${bytes(Math.max(...usage.map((p) => p.usage)))}${limit ? ` of a limit of ${bytes(limit)}` : ''}. Keys: plus and minus zoom, arrows move, Escape shows all.` },
    s('defs', {}, s('clipPath', { id: 'plot' }, frame)), plot, marked, cross);
  const readout = h('output', { class: 'readout' }, isHandheld() ? 'Pinch to zoom, drag to move; tap for a value, twice to zoom in.' : 'Drag to zoom in; double-click shows all.');
  const x = (t) => LEFT + (t - range[0]) / (range[1] - range[0]) * (width - LEFT - RIGHT);
  const y = (value) => HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM);
  const secondsOf = (pixels) => pixels / (width - LEFT - RIGHT) * (range[1] - range[0]);
  const timeAt = (clientX) => Math.min(range[1], Math.max(range[0], range[0] + secondsOf(clientX - svg.getBoundingClientRect().left - LEFT)));

  function axes() {
    const out = [], unit = byteStep(top), one = step(range[1] - range[0], Math.max(3, width / 120));
    for (let value = 0; value <= top; value += unit) {
      out.push(s('line', { class: 'grid', x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }), s('text', { x: LEFT - 8, y: y(value) + 4, 'text-anchor': 'end' }, bytes(value)));
    }
    for (let i = Math.ceil(range[0] / one); i * one <= range[1]; ++i) {
      const t = i * one;
      out.push(s('line', { class: 'grid', x1: x(t), x2: x(t), y1: TOP, y2: HEIGHT - BOTTOM }),
        s('text', { x: x(t), y: HEIGHT - BOTTOM + 18, 'text-anchor': 'middle' }, i === 0 ? 'kill' : `${t > 0 ? '+' : '-'}${duration(Math.abs(t))}`));
    }
    return out;
  }

  function path(key, name) {
    const points = usage.filter((p) => p[key] !== null && p[key] !== undefined);
    return runs(points).map((run) => s('polyline', { class: name, points: run.map((p) => `${x(p.t).toFixed(1)},${y(p[key]).toFixed(1)}`).join(' ') }));
  }

  function draw() {
    plot.replaceChildren();
    append(plot, [axes(), s('g', { 'clip-path': 'url(#plot)' }, path('fixed', 'fixed'), path('usage', 'usage'),
      usage.filter((p) => p.t >= range[0] && p.t <= range[1]).slice(0, 600).map((p) => s('circle', { class: 'dot', cx: x(p.t), cy: y(p.usage), r: 2.2 })),
      limit && s('line', { class: 'limit', x1: LEFT, x2: width - RIGHT, y1: y(limit), y2: y(limit) }),
      captures.map((c) => s('path', { class: 'capture', d: `M${x(c.t)},${HEIGHT - BOTTOM}v-12l4,6z` }, s('title', {}, c.name))),
      s('line', { class: 'kill', x1: x(0), x2: x(0), y1: TOP, y2: HEIGHT - BOTTOM }))]);
    if (pointed) markPointed();
    svg.dataset.range = range.map((t) => t.toFixed(3)).join(' ');
  }

  function zoom(from, to) {
    const least = 0.02, span = Math.min(whole[1] - whole[0], Math.max(least, to - from));
    const start = Math.min(Math.max(whole[0], (from + to - span) / 2), whole[1] - span);
    range = [start, start + span];
    draw();
  }
  const scale = (factor, centre) => zoom(centre - (centre - range[0]) * factor, centre + (range[1] - centre) * factor);

  // The sample nearest to x is marked and read out.
  function point(clientX) {
    const t = timeAt(clientX);
    pointed = usage.reduce((best, p) => (Math.abs(p.t - t) < Math.abs(best.t - t) ? p : best));
    cross.setAttribute('visibility', 'visible');
    markPointed();
    readout.textContent = `${duration(Math.abs(pointed.t))} ${pointed.t > 0 ? 'after' : 'before'} the kill: ${bytes(pointed.usage)}${pointed.fixed !== null && pointed.fixed !== undefined ? `, of it ${bytes(pointed.fixed)} not reclaimable` : ''}`;
  }
  function markPointed() {
    for (const end of ['x1', 'x2']) cross.setAttribute(end, x(pointed.t));
  }

  let from = null, isTouched = false;
  svg.addEventListener('pointerdown', (event) => {
    isTouched = event.pointerType === 'touch';
    if (isTouched) return;
    from = timeAt(event.clientX);
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener('pointermove', (event) => {
    if (event.pointerType === 'touch') return;
    point(event.clientX);
    if (from === null) return;
    const t = timeAt(event.clientX);
    marked.setAttribute('visibility', 'visible');
    marked.setAttribute('x', Math.min(x(from), x(t)));
    marked.setAttribute('width', Math.abs(x(t) - x(from)));
  });
  svg.addEventListener('pointerup', (event) => {
    const to = timeAt(event.clientX), begin = from;
    from = null;
    marked.setAttribute('visibility', 'hidden');
    if (begin !== null && Math.abs(x(to) - x(begin)) > 6) zoom(Math.min(begin, to), Math.max(begin, to));
  });
  svg.addEventListener('pointerleave', (event) => { if (event.pointerType !== 'touch') cross.setAttribute('visibility', 'hidden'); });
  svg.addEventListener('dblclick', () => { if (!isTouched) zoom(...whole); });
  onFingers(svg, {
    drag: (pixels) => zoom(range[0] - secondsOf(pixels), range[1] - secondsOf(pixels)),
    zoom: (factor, clientX) => scale(factor, timeAt(clientX)),
    tap: (event) => {
      const before = pointed;
      point(event.clientX);
      if (pointed === before) scale(0.4, pointed.t);
    },
    end: () => {},
  });
  svg.addEventListener('keydown', (event) => {
    const span = range[1] - range[0], middle = (range[0] + range[1]) / 2;
    const act = { '+': () => scale(0.6, middle), '=': () => scale(0.6, middle), '-': () => scale(1.6, middle), Escape: () => zoom(...whole),
      ArrowLeft: () => zoom(range[0] - span / 4, range[1] - span / 4), ArrowRight: () => zoom(range[0] + span / 4, range[1] + span / 4) }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  new ResizeObserver(() => {
    width = svg.clientWidth || width;
    svg.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
    frame.setAttribute('width', width - LEFT - RIGHT);
    draw();
  }).observe(svg);
  draw();
  const legend = [['usage', 'memory usage'], usage.some((p) => p.fixed) && ['fixed', 'not reclaimable'], limit && ['limit', `limit, ${bytes(limit)}`], captures.length && ['capture', 'capture'], ['kill', 'the kill']].filter(Boolean);
  return h('figure', {}, svg, h('figcaption', {}, legend.map(([name, text]) => h('span', { class: `key ${name}` }, text)), readout,
    h('button', { type: 'button', onclick: () => zoom(...whole) }, 'Show all')));
}
