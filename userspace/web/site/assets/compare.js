// SPDX-License-Identifier: Apache-2.0
// Two incidents side by side, and the flame graph of what one held more than the other.
import { apiPath, get, incidentPath } from './api.js';
import { h, section, show, table } from './dom.js';
import { bytes, percent, second, words } from './format.js';
import { flamePanel } from './flame_panel.js';

const ROWS = [
  ['Killed', (i) => second(i.time)], ['Answer', (i) => (i.answer && i.answer.sentence) || '–'], ['Cause', (i) => words(i.verdict && i.verdict.cause)],
  ['Code', (i) => (i.answer && i.answer.culprit && i.answer.culprit.code) || '–'], ['Limit', (i) => bytes(i.limit && i.limit.bytes)], ['Image', (i) => (i.container && i.container.image) || '–'],
  ['Victim', (i) => (i.victims[0] && i.victims[0].comm) || '–'], ['Resident', (i) => bytes(i.victims[0] && i.victims[0].rss && i.victims[0].rss.anon_bytes)], ['Explained', (i) => percent(i.coverage && i.coverage.ratio)],
];

export async function start(parts, query) {
  const ids = [query.get('a'), query.get('b')];
  if (!ids[0] || !ids[1]) throw new Error('Name two incidents: /compare?a=ID&b=ID');
  const [a, b] = await Promise.all(ids.map((id) => get(apiPath(id))));
  const head = (letter, i) => h('a', { href: incidentPath(i.id) }, `${letter}: ${i.id}`);
  show('Compare', h('h1', {}, 'Two incidents'), h('p', {}, head('A', a), ' and ', head('B', b)),
    table('Two incidents', [{ name: '', head: true, cell: ([name]) => name }, { name: 'A', cell: ([, of]) => of(a) }, { name: 'B', cell: ([, of]) => of(b) }], ROWS),
    section('What B held more than A', await flamePanel(b.id, { mode: 'diff', against: a.id }, ['by'])));
}
