// SPDX-License-Identifier: Apache-2.0
// Containers near their limit, read again every 5 s while the page can be seen.
import { get, queryText } from './api.js';
import { failure, h, show, table } from './dom.js';
import { bytes, duration, percent } from './format.js';

const EVERY_MS = 5000;

// The name comes from the program itself: h() takes it as text.
function contents(container) {
  if (!container.suspected_leak) return container.suspected_leak === false ? 'no type grew steadily in the readings so far' : 'too few readings to say what grows';
  const g = container.growing, grows = g ? `: ${g.name}, ${bytes(g.first_bytes)} to ${bytes(g.last_bytes)} in ${duration(g.seconds)}` : '';
  return [h('strong', { class: 'cause' }, 'suspected leak'), grows];
}

// Green is for those that have time: within an hour of its limit none is, and within five minutes it is red.
function used(container) {
  const share = container.usage_bytes / container.limit_bytes, ends = container.near === 'time' && { low: 0.001, optimum: 0 };
  return [h('meter', { min: 0, max: 1, high: ends && container.seconds_to_limit < 300 ? ends.low : 0.8, ...ends, value: Math.min(1, share), 'aria-label': percent(share) }), ` ${percent(share)}`];
}

// What fills it now. A name that a shell would read otherwise than it stands here gives no command.
function command(c) {
  const target = c.pod ? `--pod ${c.namespace}/${c.pod}` : `--container ${c.container}`;
  return (c.pod || c.container) && /^[\w ./:@-]+$/.test(target) ? h('code', {}, `oomwitness capture ${target}`) : '–';
}

const columns = [
  { name: 'Container', cell: (c) => h('a', { href: `/${queryText({ namespace: c.namespace, pod: c.pod, container: c.container })}` }, [c.namespace, c.pod, c.container].filter(Boolean).join('/')) },
  { name: 'Used', cell: used },
  { name: 'Memory', number: true, cell: (c) => `${bytes(c.usage_bytes)} of ${bytes(c.limit_bytes)}` },
  { name: 'Growth', number: true, cell: (c) => (c.growth_bytes_per_second ? `${bytes(c.growth_bytes_per_second)}/s` : '–') },
  { name: 'Time left', number: true, cell: (c) => (c.seconds_to_limit === null ? '–' : duration(c.seconds_to_limit)) },
  { name: 'Contents', cell: contents },
  { name: 'On its node', cell: command },
];

export async function start() {
  const all = h('input', { id: 'all', type: 'checkbox' }), content = h('div', { 'aria-live': 'off' });
  all.addEventListener('change', refresh);
  async function refresh() {
    try {
      const now = await get('now');
      const near = now.containers.filter((c) => all.checked || c.near);
      content.replaceChildren(h('p', { class: 'note' }, `${near.length} of ${now.with_a_limit} containers with a limit`), ...(near.length ? [table('Containers near their limit', columns, near)] : [h('p', {}, 'None has used half of its limit, none will reach it within an hour as it grows now, and no leak is suspected.')]));
    } catch (error) {
      content.replaceChildren(failure(error));
    }
  }
  show('Now', h('h1', {}, 'Near their limit now'), h('label', { for: 'all', class: 'check' }, all, ' all with a limit'), content);
  await refresh();
  setInterval(() => { if (!document.hidden) refresh(); }, EVERY_MS);
}
