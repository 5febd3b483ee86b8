// SPDX-License-Identifier: Apache-2.0
import { apiPath, get, incidentPath } from './api.js';
import { h, show } from './dom.js';
import { flamePanel } from './flame_panel.js';
import { bytes } from './format.js';

// After the incident's id: namespace, container and limit, as far as they are known.
function whose({ pod, container, limit }) {
  return [pod && pod.namespace && `namespace ${pod.namespace}`, container && container.name && `container ${container.name}`, limit && limit.bytes && `limit ${bytes(limit.bytes)}`]
    .filter(Boolean).map((part) => `, ${part}`).join('');
}

// /i/ID/diff is the flame graph of what grew and shrank.
export const diff = {
  start([id], query) {
    query.set('mode', 'diff');
    history.replaceState(null, '', `${incidentPath(id)}/flame?${query}${location.hash}`);
    return start([id], query);
  },
};

export async function start([id], query) {
  const incident = await get(apiPath(id));
  const wanted = {};
  for (const key of ['capture', 'by', 'mode', 'type', 'base', 'against', 'q']) if (query.get(key)) wanted[key] = query.get(key);
  const name = (incident.pod && incident.pod.name) || (incident.victims[0] && incident.victims[0].comm) || incident.id;
  show(`Flame graph of ${name}`, h('h1', {}, `Flame graph of ${name}`),
    h('p', {}, h('a', { href: incidentPath(id) }, `Incident ${id}`), whose(incident)),
    await flamePanel(id, wanted, ['capture', 'by', 'mode', 'type'], incident));
}
