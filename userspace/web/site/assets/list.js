// SPDX-License-Identifier: Apache-2.0
// The incidents: filters in the address, chips for causes, repeats as one row.
import { get, incidentPath } from './api.js';
import { failure, h, marked, renew, show, table } from './dom.js';
import { age, bytes, second, words } from './format.js';

const AGES = [['', 'any time'], ['1h', 'the last hour'], ['24h', 'the last day'], ['7d', 'the last 7 days'], ['30d', 'the last 30 days']];
const KEYS = ['q', 'namespace', 'pod', 'container', 'cause', 'since', 'until', 'group', 'limit'];
const UNSEEN = ['pod', 'container', 'until']; // filters of a link, from a dashboard for example, that have no control of their own
const MOST_ROWS = 1000; // that the API gives

const state = {};
let ticket = 0; // of the newest request: an answer that is overtaken is not shown
const head = h('p', { class: 'note', role: 'status' }); // is read aloud; a table is not
const results = h('div', { id: 'results' });
const chips = h('div', { class: 'chips', role: 'group', 'aria-label': 'Causes' });
const links = h('div', { class: 'chips', role: 'group', 'aria-label': 'Filters of the link' });
const namespaces = h('select', { id: 'namespace', onchange: (e) => set('namespace', e.target.value) });

function set(key, value) {
  if (value) state[key] = value;
  else delete state[key];
  const text = new URLSearchParams(state).toString();
  history.replaceState(null, '', text ? `/?${text}` : '/');
  refresh();
}

function picture(cause, count) {
  const isChosen = state.cause === cause;
  return h('button', { type: 'button', class: 'chip', 'data-key': cause, 'aria-pressed': String(isChosen), onclick: () => set('cause', isChosen ? '' : cause) },
    words(cause), ' ', h('span', { class: 'count' }, count));
}

const removable = (key) => h('button', { type: 'button', class: 'chip', 'aria-label': `Without the filter ${key} ${state[key]}`, onclick: () => set(key, '') }, `${key}: ${state[key]} ×`);

const columns = [
  { name: 'When', cell: (row) => h('time', { datetime: row.time, title: second(row.time) }, age(row.time)) },
  { name: 'Container', cell: (row) => h('a', { href: incidentPath(row.id) }, row.name) },
  { name: 'Cause', cell: (row) => h('span', { class: 'cause' }, words(row.cause)) },
  { name: 'What happened', cell: (row) => [h('span', { class: 'sentence' }, (row.sentence && marked(row.sentence)) || `${row.victim || 'a process'} was killed`), row.code && h('code', { class: 'code' }, row.code)] },
  { name: 'Limit', number: true, cell: (row) => bytes(row.limit_bytes) },
  { name: 'Kills', number: true, cell: (row) => (row.kills > 1 ? h('span', { title: `since ${second(row.first)}` }, `×${row.kills}`) : '1') },
];

function fillNamespaces(known) {
  const names = Object.keys(known);
  if (state.namespace && !names.includes(state.namespace)) names.push(state.namespace);
  namespaces.replaceChildren(h('option', { value: '' }, 'all'), ...names.sort().map((name) => h('option', { value: name, selected: name === state.namespace }, name)));
}

async function refresh() {
  const mine = ++ticket;
  try {
    const answer = await get('incidents', state);
    if (mine !== ticket) return;
    fillNamespaces(answer.namespaces);
    const causes = Object.entries({ ...(state.cause && { [state.cause]: 0 }), ...answer.causes });
    renew(chips, causes.sort((a, b) => b[1] - a[1]).map(([cause, count]) => picture(cause, count)));
    renew(links, UNSEEN.filter((key) => state[key]).map(removable));
    const shown = answer.incidents.length;
    head.textContent = (answer.total === 0 ? 'No incident yet: nothing was OOM-killed here.'
      : `${answer.matched} of ${answer.total} incidents${shown < answer.rows ? `, the newest ${shown} rows` : ''}`)
      + (answer.unread > 0 ? `; ${answer.unread} more are being read` : '');
    const more = shown > 0 && shown < Math.min(answer.rows, MOST_ROWS) && h('button', { type: 'button', 'data-key': 'more', onclick: () => set('limit', String(Math.min(MOST_ROWS, 2 * shown))) }, 'Show more');
    renew(results, [shown > 0 && table('Incidents', columns, answer.incidents), more].filter(Boolean));
    results.dataset.matched = answer.matched;
    if (!performance.getEntriesByName('list-ready').length) performance.mark('list-ready'); // tests/bench/pages.py reads it
    if (answer.unread > 0) setTimeout(refresh, 50);
  } catch (error) {
    if (mine !== ticket) return;
    head.textContent = '';
    results.replaceChildren(failure(error));
  }
}

export async function start(parts, query) {
  for (const key of KEYS) if (query.get(key)) state[key] = query.get(key);
  if (!query.has('group')) state.group = '1';
  let typing = 0;
  const search = h('input', { id: 'q', type: 'search', value: state.q || '', placeholder: 'pod, code, endpoint …', oninput: (e) => {
    clearTimeout(typing);
    typing = setTimeout(() => set('q', e.target.value.trim()), 200);
  } });
  const ages = AGES.some(([value]) => value === (state.since || '')) ? AGES : [...AGES, [state.since, state.since]];
  const since = h('select', { id: 'since', onchange: (e) => set('since', e.target.value) },
    ages.map(([value, text]) => h('option', { value, selected: (state.since || '') === value }, text)));
  const group = h('input', { id: 'group', type: 'checkbox', onchange: (e) => set('group', e.target.checked ? '1' : '0') });
  group.checked = state.group === '1';
  show('Incidents', h('h1', {}, 'Incidents'),
    h('form', { class: 'filters', role: 'search', onsubmit: (e) => e.preventDefault() },
      h('label', { for: 'q' }, 'Search ', search), h('label', { for: 'namespace' }, 'Namespace ', namespaces),
      h('label', { for: 'since' }, 'Since ', since), h('label', { for: 'group', class: 'check' }, group, ' one row per workload')),
    chips, links, head, results);
  await refresh();
}
