// SPDX-License-Identifier: Apache-2.0
// Containers near their limit, read again every 5 s while the page can be seen.
import { get } from './api.js';
import { failure, h, show, table } from './dom.js';
import { bytes, duration, percent } from './format.js';

const EVERY_MS = 5000;

// The name comes from the program itself: h() takes it as text.
function contents(container) {
  if (!container.suspected_leak) return container.suspected_leak === false ? 'no leak seen' : '–';
  const g = container.growing, grows = g ? `: ${g.name}, ${bytes(g.first_bytes)} to ${bytes(g.last_bytes)} in ${duration(g.seconds)}` : '';
  return [h('strong', { class: 'cause' }, 'suspected leak'), grows];
}

const columns = [
  { name: 'Container', cell: (c) => [c.namespace, c.pod, c.container].filter(Boolean).join('/') },
  { name: 'Used', cell: (c) => [h('meter', { min: 0, max: 1, high: 0.8, value: Math.min(1, c.usage_bytes / c.limit_bytes), 'aria-label': percent(c.usage_bytes / c.limit_bytes) }), ` ${percent(c.usage_bytes / c.limit_bytes)}`] },
  { name: 'Memory', number: true, cell: (c) => `${bytes(c.usage_bytes)} of ${bytes(c.limit_bytes)}` },
  { name: 'Growth', number: true, cell: (c) => (c.growth_bytes_per_second ? `${bytes(c.growth_bytes_per_second)}/s` : '–') },
  { name: 'Time left', number: true, cell: (c) => (c.seconds_to_limit === null ? '–' : duration(c.seconds_to_limit)) },
  { name: 'Contents', cell: contents },
];

export async function start() {
  const all = h('input', { id: 'all', type: 'checkbox' }), content = h('div', { 'aria-live': 'off' });
  all.addEventListener('change', refresh);
  async function refresh() {
    try {
      const now = await get('now');
      const near = now.containers.filter((c) => all.checked || c.usage_bytes >= 0.5 * c.limit_bytes || c.suspected_leak);
      content.replaceChildren(h('p', { class: 'note' }, `${near.length} of ${now.with_a_limit} containers with a limit`), ...(near.length ? [table('Containers near their limit', columns, near)] : [h('p', {}, 'None is above half of its limit, and no leak is suspected.')]));
    } catch (error) {
      content.replaceChildren(failure(error));
    }
  }
  show('Now', h('h1', {}, 'Near their limit now'), h('label', { for: 'all', class: 'check' }, all, ' all with a limit'), content);
  await refresh();
  setInterval(() => { if (!document.hidden) refresh(); }, EVERY_MS);
}
