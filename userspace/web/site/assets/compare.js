// SPDX-License-Identifier: Apache-2.0
// Two incidents side by side, and the flame graph of what one held more than the other.
import { apiPath, get, incidentPath } from './api.js';
import { h, marked, section, show, table } from './dom.js';
import { bytes, percent, second, words } from './format.js';
import { flamePanel } from './flame_panel.js';

const ROWS = [
  ['Killed', (i) => second(i.time)], ['Answer', (i) => (i.answer ? marked(i.answer.sentence) : '–')], ['Cause', (i) => words(i.verdict && i.verdict.cause)],
  ['Code', (i) => (i.answer && i.answer.culprit && i.answer.culprit.code) || '–'], ['Limit', (i) => bytes(i.limit && i.limit.bytes)], ['Image', (i) => (i.container && i.container.image) || '–'],
  ['Victim', (i) => (i.victims[0] && i.victims[0].comm) || '–'], ['Resident', (i) => bytes(i.victims[0] && i.victims[0].rss && i.victims[0].rss.anon_bytes)], ['Explained', (i) => percent(i.coverage && i.coverage.ratio)],
];

// Of the newest incidents two that differ, unless the address names them.
async function choose(ids) {
  const { incidents } = await get('incidents', { limit: 200 });
  const select = (at, label) => h('select', { id: label }, incidents.map((one, i) => h('option', { value: one.id, selected: ids[at] ? one.id === ids[at] : i === 1 - at }, `${one.name}, ${second(one.time)}, ${words(one.cause)}`)));
  const selects = [select(0, 'earlier'), select(1, 'later')];
  const compare = (e) => { e.preventDefault(); location.href = `/compare?${new URLSearchParams({ a: selects[0].value, b: selects[1].value })}`; };
  show('Compare', h('h1', {}, 'Two incidents'), h('p', {}, 'Choose two of the newest; each incident has links to those of its own workload. ', h('a', { href: '/' }, 'All incidents')),
    h('form', { class: 'filters', onsubmit: compare }, selects.map((one) => h('label', { for: one.id }, `The ${one.id} one `, one)), h('button', {}, 'Compare')));
}

export async function start(parts, query) {
  const ids = [query.get('a'), query.get('b')];
  if (!ids[0] || !ids[1]) return choose(ids);
  const [a, b] = await Promise.all(ids.map((id) => get(apiPath(id))));
  const head = (letter, i) => h('a', { href: incidentPath(i.id) }, `${letter}: ${i.id}`);
  show('Compare', h('h1', {}, 'Two incidents'), h('p', {}, head('A', a), ' and ', head('B', b)),
    table('Two incidents', [{ name: '', head: true, cell: ([name]) => name }, { name: 'A', cell: ([, of]) => of(a) }, { name: 'B', cell: ([, of]) => of(b) }], ROWS),
    section('What B held more than A', await flamePanel(b.id, { mode: 'diff', against: a.id }, ['by'])));
}
