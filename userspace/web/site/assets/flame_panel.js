// SPDX-License-Identifier: Apache-2.0
// The controls around a flame graph; their state is in the address, the zoom behind the '#'.
import { apiPath, get } from './api.js';
import { failure, h, renew, table } from './dom.js';
import { isHandheld } from './fingers.js';
import { FlameGraph } from './flame_graph.js';
import { amount, bytes, percent } from './format.js';

const TYPES = { inuse_space: 'bytes in use', inuse_objects: 'objects in use', alloc_space: 'bytes allocated so far', alloc_objects: 'objects allocated so far', contents: 'bytes by type', held: 'bytes by holder', growth: 'bytes by who touched them first' };
const CHOICES = {
  by: [['function', 'functions'], ['package', 'packages'], ['component', 'components'], ['operation', 'operations']],
  mode: [['held', 'the profile'], ['growth', 'what grew'], ['diff', 'growth and shrinkage']],
};
const HINTS = 'Arrows move, Enter zooms in, Escape shows all, / searches; a drag moves what is zoomed.';
const FINGER_HINTS = 'A tap selects and a second one zooms in; pinch to zoom, drag to move.';

function topOf(graph) {
  const rows = graph.top(20);
  return h('details', {}, h('summary', {}, 'The largest as a table'), table('The largest by their own bytes', [
    { name: 'Name', cell: (r) => h('code', {}, r.name) }, { name: 'Own', number: true, cell: (r) => amount(r.self, graph.unit) }, { name: 'With what it calls', number: true, cell: (r) => amount(r.size, graph.unit) },
    { name: 'Share', number: true, cell: (r) => percent(r.share) }], rows));
}

// controls: which of capture, by, mode, type can be chosen. incident: for the list of captures.
export async function flamePanel(id, wanted, controls, incident) {
  const state = { by: 'function', mode: 'held', ...wanted };
  const place = h('div', { class: 'flame' }), status = h('p', { role: 'status', class: 'note' }), matched = h('output', { id: 'matched', for: 'flame-search' }), top = h('div', {});
  const search = h('input', { id: 'flame-search', type: 'search', value: state.q || '', placeholder: 'part of a name', oninput: () => { state.q = search.value; find(); remember(); } });
  const selects = h('span', { class: 'choices' });
  let graph = null, ticket = 0, hasEarlier = true;

  function remember() {
    const kept = Object.entries(state).filter(([key, value]) => value && !(key === 'by' && value === 'function') && !(key === 'mode' && value === 'held'));
    if (location.pathname.endsWith('/flame')) history.replaceState(null, '', `${location.pathname}${kept.length ? `?${new URLSearchParams(kept)}` : ''}${location.hash}`);
  }
  function find() {
    if (!graph) return;
    const share = graph.search(search.value);
    matched.textContent = search.value ? `matched: ${percent(share)}` : '';
  }
  const select = (key, label, options) => h('label', { for: `flame-${key}` }, `${label} `, h('select', { id: `flame-${key}`, onchange: (e) => { state[key] = e.target.value; history.replaceState(null, '', location.pathname + location.search); remember(); load(); } },
    options.map(([value, text]) => h('option', { value, selected: (state[key] || '') === value }, text))));
  function fillSelects(types) {
    const captures = (incident && incident.captures || []).filter((c) => c.file && c.result === 'ok').map((c) => [c.file, `${c.method}, ${bytes(c.inuse_bytes)}`]);
    if (captures.length > 0 && state.capture && !captures.some(([file]) => file === state.capture)) captures.push([state.capture, state.capture]); // the growth
    renew(selects, [controls.includes('mode') && (hasEarlier || state.mode !== 'held') && select('mode', 'Show', CHOICES.mode), controls.includes('by') && select('by', 'by', CHOICES.by),
      controls.includes('capture') && captures.length > 1 && select('capture', 'of', captures), controls.includes('type') && types.length > 1 && select('type', 'in', types.map((t) => [t, TYPES[t] || t]))].filter(Boolean));
  }

  async function load() {
    const mine = ++ticket;
    status.textContent = 'Reading the profile …';
    try {
      const { q, ...question } = state;
      const answer = await get(`${apiPath(id)}/flame`, question);
      if (mine !== ticket) return;
      state.capture = state.capture || (controls.includes('capture') ? answer.capture : '');
      hasEarlier = answer.has_earlier;
      state.type = controls.includes('type') ? answer.flame.type : state.type;
      fillSelects(answer.flame.types);
      graph = new FlameGraph(place, answer.flame, () => search.focus());
      status.textContent = `${answer.flame.title}. ${answer.base ? `Compared with ${answer.base_incident === answer.incident ? answer.base : `incident ${answer.base_incident}`}. ` : ''}${state.mode === 'diff' ? 'Red grew, blue shrank. ' : ''}${isHandheld() ? FINGER_HINTS : HINTS}`;
      top.replaceChildren(topOf(graph));
      find();
    } catch (error) {
      if (mine !== ticket) return;
      graph = null;
      fillSelects([]);
      status.textContent = '';
      place.replaceChildren(failure(error));
      top.replaceChildren();
    }
  }
  await load();
  return h('div', {}, h('form', { class: 'filters', onsubmit: (e) => e.preventDefault() }, selects, h('span', {}, h('label', { for: 'flame-search' }, 'Search ', search), ' ', matched),
    h('button', { type: 'button', onclick: () => graph && graph.reset() }, 'Show all')), status, place, top);
}
