// SPDX-License-Identifier: Apache-2.0
import { get } from './api.js';
import { command, failure, h, section, show, table } from './dom.js';
import { age, bytes, percent, words } from './format.js';

const pairs = (caption, values) => values && Object.keys(values).length > 0 && table(caption, [
  { name: 'What', cell: ([name]) => words(name) }, { name: 'Value', number: true, cell: ([, value]) => (typeof value === 'number' ? value.toLocaleString('en') : String(value)) }], Object.entries(values));

const features = (known) => table('Features', [{ name: 'Feature', head: true, cell: ([name]) => words(name) }, { name: 'Data source', cell: ([, { rung }]) => rung },
  { name: 'What it cannot give, and why there is no better one', cell: ([, { lost }]) => lost || '–' }], Object.entries(known));

const counted = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value > 0)); // each counter is there from the start, at 0

export async function start() {
  const health = await get('health'), daemon = health.daemon;
  const problems = [health.error, health.daemon_error, daemon && !daemon.ready && 'The daemon is still starting.', daemon && !daemon.data_dir_writable && 'The data directory cannot be written.',
    daemon && daemon.incidents.write_errors > 0 && `${daemon.incidents.write_errors} incidents could not be written.`,
    daemon && daemon.kills.unobserved > 0 && `The kernel counted ${daemon.kills.unobserved} kills that were not observed.`,
    daemon && Object.keys(counted(daemon.lost)).length > 0 && 'Something was lost: see below.',
    ...(daemon ? Object.entries(daemon.failing_sinks).map(([sink, why]) => `Sink ${sink} fails: ${why}`) : []),
    health.space && health.space.free_bytes < 0.05 * health.space.total_bytes && 'Less than 5 % of the disk is free.'].filter(Boolean);
  show('Health', h('h1', {}, 'Health'),
    problems.length ? problems.map((text) => failure(text)) : h('p', { class: 'good' }, daemon ? 'All is well.' : 'These are incidents on disk; no daemon runs here.'),
    h('dl', {}, h('dt', {}, 'Version'), h('dd', {}, health.version), h('dt', {}, 'Incidents'), h('dd', {}, `${health.incidents} in ${health.directory}`),
      health.space && [h('dt', {}, 'Disk'), h('dd', {}, `${bytes(health.space.free_bytes)} of ${bytes(health.space.total_bytes)} free (${percent(health.space.free_bytes / health.space.total_bytes)})`)],
      daemon && [h('dt', {}, 'Daemon'), h('dd', {}, `${bytes(daemon.resident_bytes)} resident, ${daemon.cpu_seconds.toFixed(1)} s of CPU, ${daemon.cgroups} cgroups`)]),
    daemon && section('What works, and by which data source', features(daemon.features), h('p', {}, 'What this node could do, checked anew:'), command('oomwitness doctor')), daemon && section('What was lost', pairs('Losses', counted(daemon.lost))), daemon && section('Over their share', pairs('Shares', counted(daemon.over_share))),
    health.dropped && health.dropped.length > 0 && section('Incidents no longer kept', table('Dropped', [{ name: 'Workload', cell: (d) => d.workload }, { name: 'Incidents', number: true, cell: (d) => d.count }, { name: 'Last', cell: (d) => age(d.last) }], health.dropped)));
}
