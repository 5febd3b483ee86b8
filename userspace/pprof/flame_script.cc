// SPDX-License-Identifier: Apache-2.0
#include "pprof/flame_script.h"

namespace oomw::pprof {

const char* const kFlameStyle = R"(
:root { height: auto; min-width: 800px; background: #fff; }
text { font-family: "DejaVu Sans Mono", Menlo, Consolas, "Liberation Mono", monospace; font-size: 12px; fill: #111; }
.title { font-size: 16px; font-weight: bold; }
.note { fill: #444; }
#frames g { cursor: pointer; }
#frames text, #frames .own { pointer-events: none; }
#frames .own { fill: #000; fill-opacity: 0.1; }
#frames g:hover > rect:first-of-type { stroke: #111; stroke-width: 1; }
#frames .found > rect:first-of-type { stroke: #a0c; stroke-width: 2; }
#frames .chosen > rect:first-of-type { stroke: #111; stroke-width: 2; }
#frames.searching g:not(.found) > rect:first-of-type { fill-opacity: 0.35; }
#frames:focus { outline: none; }
#frames:focus-visible .chosen > rect:first-of-type { stroke: #06c; stroke-width: 3; }
#controls { font: 14px system-ui, "DejaVu Sans", sans-serif; color: #111; }
#controls form { display: flex; flex-wrap: wrap; gap: 6px 12px; align-items: center; height: 40px; margin: 0; }
#controls input { width: 150px; }
#controls input, #controls button { font: inherit; color: inherit; background: #f5f7f9; border: 1px solid #777;
  border-radius: 6px; padding: 3px 8px; min-height: 30px; box-sizing: border-box; }
#tip { height: 38px; overflow: hidden; line-height: 19px; overflow-wrap: anywhere; color: #444; }
@media (prefers-color-scheme: dark) {
:root { background: #14171b; }
.paper { fill: #14171b; }
text { fill: #f2f4f7; }
.note { fill: #a7b0ba; }
#frames .own { fill: #fff; fill-opacity: 0.14; }
#frames g:hover > rect:first-of-type, #frames .chosen > rect:first-of-type { stroke: #fff; }
#frames .found > rect:first-of-type { stroke: #f8f; }
#frames:focus-visible .chosen > rect:first-of-type { stroke: #8ab4f8; }
#controls { color: #e8ebef; }
#controls input, #controls button { background: #1d2126; border-color: #a7b0ba; }
#tip { color: #a7b0ba; }
}
)";

// Reads and writes only numbers, texts and classes of what is drawn, never markup.
const char* const kFlameScript = R"js(//<![CDATA[
(function () {
  'use strict';
  var SVG = 'http://www.w3.org/2000/svg', HTML = 'http://www.w3.org/1999/xhtml';
  var MARGIN = 10, ROW = 18, CHAR = 7.3, TITLE_CHAR = 9.7, LINE = 17, BAR = 84, LEAST = 0.3, MOST_ROWS = 4;
  var picture = document.documentElement, place = document.getElementById('frames');
  var frames = Array.prototype.map.call(place.children, function (group) {
    var at = group.getAttribute('data-at').split(',').map(Number), rects = group.querySelectorAll('rect');
    var lines = group.querySelector('title').textContent.split('\n');
    return { group: group, rect: rects[0], shade: rects[1] || null, text: group.querySelector('text'), name: lines[0],
             figures: lines[1], value: lines[1].split(',')[0], depth: at[0], start: at[1], size: at[2], own: at[3],
             children: [], parent: null };
  });
  if (!frames.length) return;
  var top = Number(frames[0].rect.getAttribute('y')), root = frames[0], chosen = root, width = 0;
  var rows = [], deepest = 0;
  frames.slice().sort(function (a, b) { return a.depth - b.depth || a.start - b.start; }).forEach(function (frame) {
    (rows[frame.depth] = rows[frame.depth] || []).push(frame);
    deepest = frame.depth;
  });
  rows.forEach(function (row, depth) {
    var at = 0, above = rows[depth - 1];
    row.forEach(function (frame) {
      if (!above) return;
      while (at + 1 < above.length && above[at + 1].start <= frame.start) ++at;
      frame.parent = above[at];
      frame.parent.children.push(frame);
    });
  });

  function make(name, attributes, content) {
    var element = document.createElementNS(HTML, name);
    Object.keys(attributes).forEach(function (key) { element.setAttribute(key, attributes[key]); });
    element.append.apply(element, content || []);
    return element;
  }
  var search = make('input', { type: 'search', id: 'wanted', placeholder: 'part of a name' });
  var matched = make('output', { id: 'matched', 'for': 'wanted' });
  var all = make('button', { type: 'button', id: 'all' }, ['Show all']);
  var tip = make('div', { id: 'tip', role: 'status' });
  var form = make('form', {}, [make('label', { 'for': 'wanted' }, ['Search ']), search, all, matched]);
  var controls = document.createElementNS(SVG, 'foreignObject');
  controls.setAttribute('id', 'controls');
  controls.append(make('div', {}, [form, tip]));
  picture.insertBefore(controls, place);
  place.setAttribute('tabindex', '0');
  place.setAttribute('role', 'application');
  place.setAttribute('aria-label', 'Frames. Arrows move, Enter zooms in, Escape shows all, / searches.');
  document.title = document.querySelector('#head .title').textContent;

  var head = Array.prototype.map.call(document.querySelectorAll('#head text'), function (element) {
    return { element: element, words: element.textContent.split(' '), title: element.getAttribute('class') === 'title' };
  });
  var legend = Array.prototype.map.call(document.querySelectorAll('#legend > g'), function (group) {
    var rect = group.querySelector('rect'), length = group.querySelector('text').textContent.length;
    return { group: group, x: Number(rect.getAttribute('x')), y: Number(rect.getAttribute('y')), width: 32 + CHAR * length };
  });

  // The words of a line in rows of the window's width, from `y` on; where the next line begins.
  function wrap(line, y) {
    var columns = Math.max(8, Math.floor(width / (line.title ? TITLE_CHAR : CHAR))), texts = [''];
    line.words.forEach(function (word) {
      var last = texts[texts.length - 1];
      if (last === '' || last.length + 1 + word.length <= columns) texts[texts.length - 1] = last ? last + ' ' + word : word;
      else texts.push(word);
    });
    line.element.textContent = '';
    texts.slice(0, MOST_ROWS).forEach(function (text, i) {
      var span = document.createElementNS(SVG, 'tspan');
      span.setAttribute('x', MARGIN);
      span.setAttribute('y', y + i * (line.title ? 20 : LINE));
      span.textContent = text.length <= columns ? text : text.slice(0, columns - 2) + '..';
      line.element.append(span);
    });
    return y + Math.min(texts.length, MOST_ROWS) * (line.title ? 20 : LINE);
  }
  function flow(y) {
    var x = 0;
    legend.forEach(function (entry) {
      if (x > 0 && x + entry.width > width) { x = 0; y += LINE; }
      entry.group.setAttribute('transform', 'translate(' + (MARGIN + x - entry.x).toFixed(1) + ' ' + (y - 9.5 - entry.y).toFixed(1) + ')');
      x += entry.width;
    });
    return y + 8;
  }
  function label(frame, room) {
    var columns = Math.floor((room - 6) / CHAR);
    if (columns < 3) return '';
    var brief = frame.name.replace(/^[^\[(]*\//, ''), bare = brief.replace(/^[^.(]*\./, '');
    var fitting = [frame.name + ' ' + frame.value, brief + ' ' + frame.value, brief, bare].filter(function (text) {
      return text.length <= columns;
    });
    return fitting.length ? fitting[0] : bare.slice(0, columns - 2) + '..';
  }
  function put(frame, x, room, isAbove) {
    frame.rect.setAttribute('x', x.toFixed(2));
    frame.rect.setAttribute('width', Math.max(0.5, room - 0.5).toFixed(2));
    if (frame.shade) {
      var own = isAbove ? 0 : room * frame.own / frame.size;
      frame.shade.setAttribute('x', (x + room - own).toFixed(2));
      frame.shade.setAttribute('width', own.toFixed(2));
    }
    var text = label(frame, room);
    if (!frame.text && text) {
      frame.text = document.createElementNS(SVG, 'text');
      frame.text.setAttribute('y', top + frame.depth * ROW + 13);
      frame.group.append(frame.text);
    }
    if (!frame.text) return;
    frame.text.setAttribute('x', (x + 3).toFixed(1));
    frame.text.textContent = text;
  }
  function holds(outer, inner) {
    return outer.start <= inner.start && inner.start + inner.size <= outer.start + outer.size;
  }
  function draw() {
    var scale = width / root.size;
    frames.forEach(function (frame) {
      var isAbove = frame.depth < root.depth, room = frame.size * scale;
      var isShown = isAbove ? holds(frame, root) : holds(root, frame) && room >= LEAST;
      frame.group.style.display = isShown ? '' : 'none';
      if (isShown) put(frame, isAbove ? MARGIN : MARGIN + (frame.start - root.start) * scale, isAbove ? width : room, isAbove);
    });
  }
  function layout() {
    // A phone lays pages without a viewport out at 980 pixels and shows them smaller: its screen counts.
    var isPhone = window.screen.width < 640 && window.screen.width < window.innerWidth;
    var whole = Math.max(240, isPhone ? window.screen.width : window.innerWidth);
    if (whole - 2 * MARGIN === width) return;
    width = whole - 2 * MARGIN;
    var y = 26;
    head.forEach(function (line) { y = wrap(line, y); });
    y = flow(y);
    ['x', 'y', 'width', 'height'].forEach(function (name, i) { controls.setAttribute(name, [MARGIN, y, width, BAR][i]); });
    y += BAR;
    var height = y + (deepest + 1) * ROW + MARGIN;
    place.setAttribute('transform', 'translate(0 ' + (y - top) + ')');
    picture.setAttribute('viewBox', '0 0 ' + whole + ' ' + height);
    picture.setAttribute('height', height);
    picture.style.minWidth = '0';
    picture.style.height = height * Math.max(1, window.innerWidth / whole) + 'px';
    draw();
  }

  function choose(frame) {
    if (!frame) return;
    chosen.group.classList.remove('chosen');
    chosen = frame;
    chosen.group.classList.add('chosen');
    tip.textContent = frame.name + ': ' + frame.figures;
    if (holds(root, frame) || holds(frame, root)) return;
    root = frame.parent || frame;
    draw();
  }
  function zoom(frame) {
    root = frame;
    choose(frame);
    draw();
  }
  function go(frame) {
    var ranks = [];
    for (var f = frame; f.parent; f = f.parent) ranks.unshift(f.parent.children.indexOf(f));
    zoom(frame);
    try { window.location.replace('#' + (ranks.length ? 'zoom=' + ranks.join('.') : '')); } catch (error) { /* no address here */ }
  }
  function follow() {
    var wanted = /^#zoom=([0-9]+(?:\.[0-9]+){0,255})$/.exec(window.location.hash), frame = frames[0];
    (wanted ? wanted[1].split('.') : []).forEach(function (rank) { frame = frame.children[Number(rank)] || frame; });
    zoom(frame);
  }
  // The share of stacks through a frame with that name; a stack counts once.
  function find() {
    var wanted = search.value.trim().toLowerCase(), sum = 0;
    rows.forEach(function (row) {
      row.forEach(function (frame) {
        var isFound = wanted !== '' && frame.name.toLowerCase().indexOf(wanted) >= 0;
        var isBelow = Boolean(frame.parent && (frame.parent.found || frame.parent.below));
        frame.found = isFound;
        frame.below = isBelow;
        if (isFound && !isBelow) sum += frame.size;
        frame.group.classList.toggle('found', isFound);
      });
    });
    place.classList.toggle('searching', wanted !== '');
    matched.textContent = wanted === '' ? '' : 'matched: ' + (100 * sum / frames[0].size).toFixed(sum && sum < frames[0].size / 10 ? 1 : 0) + ' %';
  }

  var KEYS = {
    ArrowUp: function () { choose(chosen.parent); },
    ArrowDown: function () { choose(chosen.children[0]); },
    ArrowLeft: function (siblings) { choose(siblings[siblings.indexOf(chosen) - 1]); },
    ArrowRight: function (siblings) { choose(siblings[siblings.indexOf(chosen) + 1]); },
    Enter: function () { go(chosen); },
    Escape: function () { go(frames[0]); },
    '/': function () { search.focus(); }
  };
  function frameOf(event) {
    var group = event.target.closest && event.target.closest('#frames > g');
    return group ? frames[Array.prototype.indexOf.call(place.children, group)] : null;
  }
  place.addEventListener('click', function (event) { var frame = frameOf(event); if (frame) go(frame); });
  place.addEventListener('mouseover', function (event) {
    var frame = frameOf(event);
    if (frame) tip.textContent = frame.name + ': ' + frame.figures;
  });
  document.addEventListener('keydown', function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || (event.target === search && event.key !== 'Escape')) return;
    if (!KEYS[event.key] || event.target === all) return;
    event.preventDefault();
    KEYS[event.key](chosen.parent ? chosen.parent.children : [chosen]);
  });
  form.addEventListener('submit', function (event) { event.preventDefault(); });
  search.addEventListener('input', find);
  all.addEventListener('click', function () { go(frames[0]); });
  window.addEventListener('resize', layout);
  window.addEventListener('hashchange', follow);
  layout();
  follow();
})();
//]]>)js";

}  // namespace oomw::pprof
