// SPDX-License-Identifier: Apache-2.0
import { apiPath, get, incidentPath } from './api.js';
import { h, show } from './dom.js';
import { flamePanel } from './flame_panel.js';

export async function start([id], query) {
  const incident = await get(apiPath(id));
  const wanted = {};
  for (const key of ['capture', 'by', 'mode', 'type', 'base', 'against', 'q']) if (query.get(key)) wanted[key] = query.get(key);
  const name = (incident.pod && incident.pod.name) || (incident.victims[0] && incident.victims[0].comm) || incident.id;
  show(`Flame graph of ${name}`, h('h1', {}, `Flame graph of ${name}`),
    h('p', {}, h('a', { href: incidentPath(id) }, `Incident ${id}`)),
    await flamePanel(id, wanted, ['capture', 'by', 'mode', 'type'], incident));
}
