// SPDX-License-Identifier: Apache-2.0
#include "pprof/flame_script.h"

namespace oomw::pprof {

const char* const kFlameStyle = R"(
text { font-family: "DejaVu Sans Mono", Menlo, Consolas, "Liberation Mono", monospace; font-size: 12px; fill: #111; }
.title { font-size: 16px; font-weight: bold; }
.note { fill: #444; }
.control { display: none; fill: #06c; cursor: pointer; }
#frames g { cursor: pointer; }
#frames g:hover rect { stroke: #111; stroke-width: 1; }
#frames .found rect { stroke: #c0f; stroke-width: 2; }
)";

// Reads and writes only numbers, texts and classes of what is drawn, never markup.
const char* const kFlameScript = R"(//<![CDATA[
(function () {
  'use strict';
  var MARGIN = 10, CHAR = 7.3;
  var width = document.documentElement.viewBox.baseVal.width - 2 * MARGIN;
  var frames = Array.prototype.map.call(document.querySelectorAll('#frames > g'), function (group) {
    var rect = group.querySelector('rect'), number = function (name) { return +rect.getAttribute(name); };
    var lines = group.querySelector('title').textContent.split('\n');
    return { group: group, rect: rect, text: group.querySelector('text'), name: lines[0],
             value: lines[1].split(',')[0], x: number('x'), y: number('y'), width: number('width') };
  });
  function label(frame, room) {
    var columns = Math.floor((room - 6) / CHAR);
    var brief = frame.name.replace(/^[^\[(]*\//, ''), bare = brief.replace(/^[^.(]*\./, '');
    var fitting = [frame.name + ' ' + frame.value, brief + ' ' + frame.value, brief, bare].filter(function (text) {
      return text.length <= columns;
    });
    if (fitting.length) return fitting[0];
    return columns < 3 ? '' : bare.slice(0, columns - 2) + '..';
  }
  function place(frame, x, room) {
    frame.rect.setAttribute('x', x.toFixed(1));
    frame.rect.setAttribute('width', Math.max(0.5, room).toFixed(1));
    if (!frame.text) {
      frame.text = document.createElementNS('http://www.w3.org/2000/svg', 'text');
      frame.text.setAttribute('y', frame.y + 13);
      frame.group.appendChild(frame.text);
    }
    frame.text.setAttribute('x', (x + 3).toFixed(1));
    frame.text.textContent = label(frame, room);
  }
  function zoom(to) {
    var scale = width / to.width, slack = 0.6;
    frames.forEach(function (frame) {
      var holds = frame.y < to.y && frame.x <= to.x + slack && frame.x + frame.width + slack >= to.x + to.width;
      var within = frame.y >= to.y && frame.x + slack >= to.x && frame.x + frame.width <= to.x + to.width + slack;
      frame.group.style.display = holds || within ? '' : 'none';
      if (holds) place(frame, MARGIN, width);
      if (within) place(frame, MARGIN + (frame.x - to.x) * scale, frame.width * scale);
    });
  }
  function search() {
    var wanted = window.prompt('Part of a function name:', '');
    if (wanted === null) return;
    wanted = wanted.toLowerCase();
    frames.forEach(function (frame) {
      var found = wanted !== '' && frame.name.toLowerCase().indexOf(wanted) >= 0;
      frame.group.setAttribute('class', found ? 'found' : '');
    });
  }
  frames.forEach(function (frame) {
    frame.group.addEventListener('click', function () {
      if (String(window.getSelection()) === '') zoom(frame);  // text is being marked
    });
  });
  [['reset', function () { if (frames.length) zoom(frames[0]); }], ['search', search]].forEach(function (control) {
    var element = document.getElementById(control[0]);
    element.style.display = 'inline';
    element.addEventListener('click', control[1]);
  });
})();
//]]>)";

}  // namespace oomw::pprof
