// SPDX-License-Identifier: Apache-2.0
// One incident: the answer first, then the evidence.
import { apiPath, get, incidentPath } from './api.js';
import { command, h, marked, section, show, table } from './dom.js';
import { age, amount, bytes, duration, percent, second, words } from './format.js';
import { timeline } from './timeline.js';

const nameOf = (incident) => {
  const { pod, container } = incident;
  if (pod && pod.name) return [pod.namespace, pod.name, container && container.name].filter(Boolean).join('/');
  return (container && (container.unit || container.name || container.cgroup_path)) || 'an unnamed cgroup';
};

const bar = (share) => h('meter', { min: 0, max: 1, value: Math.max(0, Math.min(1, share || 0)), 'aria-label': percent(share) });

// How a root keeps memory: the links have their own arrows.
const chain = (links) => h('code', {}, (links || []).join(''));

// "86 % (80.0 MiB)", as the report has it.
// Of an estimate by a sample: "about"; of what was counted the text itself.
const about = ({ error_bytes: error }, text) => (error === undefined ? text : `about ${text}`);
const sized = (one) => about(one, bytes(one.bytes)) + (one.error_bytes === undefined ? '' : ` ± ${bytes(one.error_bytes)}`);

function heldBy(culprit) {
  if (!culprit.share && !culprit.bytes) return 'it';
  const share = percent(culprit.share), held = sized(culprit);
  return culprit.share && culprit.bytes ? `${share} (${held})` : culprit.share ? share : held;
}

function answerOf(incident) {
  const answer = incident.answer, verdict = incident.verdict, culprit = answer && answer.culprit;
  return h('div', { class: 'answer' },
    h('p', { class: 'sentence' }, (answer && marked(answer.sentence)) || `${words(verdict && verdict.cause)}: the evidence is below.`),
    h('p', {}, h('span', { class: 'cause' }, words((answer && answer.cause) || (verdict && verdict.cause))),
      ' ', h('span', { class: 'note' }, verdict && verdict.confidence !== null && verdict.confidence !== undefined && `confidence ${percent(verdict.confidence)}`)),
    culprit && h('p', {}, h('strong', {}, 'Code: '), h('code', {}, culprit.code), ` ${culprit.claim} ${heldBy(culprit)}`,
      culprit.operation && [`, for ${words(culprit.operation_kind)} `, h('code', {}, culprit.operation)]),
    culprit && culprit.path && culprit.path.length > 1 && h('div', { class: 'note' }, 'Path: ', culprit.claim === 'keeps' ? chain(culprit.path) : h('ol', { class: 'path' }, culprit.path.map((frame) => h('li', {}, h('code', {}, frame))))),
    answer && answer.action && h('p', { class: 'action' }, h('strong', {}, 'What to do: '), marked(answer.action)),
    answer && answer.again && h('p', { class: 'note' }, answer.again));
}

function figures(incident) {
  const rows = [['Killed', [h('time', { datetime: incident.time }, second(incident.time)), ` (${age(incident.time)})`]],
    ['Victim', (incident.victims || []).slice(0, 3).map((v) => `${v.comm || '?'} (pid ${v.pid})`).join(', ') + (incident.victim_count > 3 ? ` and ${incident.victim_count - 3} more` : '')],
    ['Limit', incident.limit && incident.limit.bytes ? `${bytes(incident.limit.bytes)}, of the ${words(incident.scope)}` : words(incident.scope)],
    ['Node', incident.pod && incident.pod.node], ['Image', incident.container && incident.container.image],
    ['Restarts', incident.pod && incident.pod.restart_count], ['Cgroup', incident.container && incident.container.cgroup_path],
    ['Repeats', incident.repeats && `${incident.repeats.count} more kills until ${second(incident.repeats.last)}`]];
  return h('dl', {}, rows.filter(([, value]) => value !== null && value !== undefined && value !== '').map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));
}

// What the memory is, by the parts that are known: of the composition where there is one, else of the reconciliation.
function composition(incident, path) {
  const known = incident.composition || incident.reconciliation;
  if (!known || !known.parts || !known.parts.length) return null;
  const parts = known.parts.map((p) => ({ name: words(p.name || p.part), bytes: p.bytes, source: p.source, runtime: p.runtime }));
  if (known.unexplained_bytes > 0) parts.push({ name: 'not explained', bytes: known.unexplained_bytes, source: '' });
  const total = parts.reduce((sum, p) => sum + Math.max(0, p.bytes), 0) || 1;
  const segments = h('div', { class: 'segments', 'aria-hidden': 'true' }, parts.map((p, i) => {
    const segment = h('div', { class: `segment c${i % 8}`, title: `${p.name}: ${bytes(p.bytes)}` });
    segment.style.flexGrow = String(Math.max(0, p.bytes) / total);
    return segment;
  }));
  const files = (incident.analyses || []).flatMap((a) => (a.files || []).map((f) => f.name)), flame = `${path}/flame?capture=contents.pb.gz`;
  const links = files.includes('contents.pb.gz') && h('p', {}, h('a', { href: flame }, 'By part and type'), ' · ', h('a', { href: `${flame}&type=held` }, 'by holder'),
    files.includes('contents-before.pb.gz') && [' · ', h('a', { href: `${flame}&mode=growth` }, 'what grew since the reading before')]);
  return [segments, links, table('Parts of the memory', [
    { name: 'Part', cell: (p) => [h('span', { class: `dotkey c${parts.indexOf(p) % 8}` }), p.name] }, { name: 'Bytes', number: true, cell: (p) => bytes(p.bytes) },
    { name: 'Share', number: true, cell: (p) => percent(p.bytes / total) }, { name: 'Known from', cell: (p) => [p.source, p.runtime && ` (${p.runtime})`] }], parts)];
}

const fillers = (incident) => (incident.fillers || []).length > 0 && table('What fills the memory', [
  { name: 'Name', cell: (f) => [h('code', {}, f.name), f.held_as && h('span', { class: 'note' }, ` held as ${f.held_as}`)] },
  { name: 'Kind', cell: (f) => [f.runtime, ' ', words(f.kind)] }, { name: 'For', cell: (f) => f.operation || '–' }, { name: 'Count', number: true, cell: (f) => (f.count ? about(f, f.count.toLocaleString('en')) : '–') },
  { name: 'Bytes', number: true, cell: (f) => (f.bytes ? sized(f) : '–') },
  { name: 'Growth', number: true, cell: (f) => (f.growth_ratio ? `×${f.growth_ratio.toFixed(1)}` : '–') },
  { name: 'Share', number: true, cell: (f) => (f.bytes ? about(f, percent(f.share)) : '–') }], incident.fillers);

const operations = (incident) => (incident.operations || []).length > 0 && table('Endpoints and jobs', [
  { name: 'Operation', cell: (o) => [h('code', {}, o.name), h('span', { class: 'note' }, ` ${words(o.kind)}`)] }, { name: '', cell: (o) => bar(o.share) },
  { name: 'Bytes', number: true, cell: (o) => bytes(o.bytes) }, { name: 'Growth', number: true, cell: (o) => (o.growth_ratio ? `×${o.growth_ratio.toFixed(1)}` : '–') }], incident.operations);

const holders = (incident) => (incident.holders || []).length > 0 && h('ul', { class: 'holders' }, incident.holders.map((holder) => h('li', {},
  percent(holder.share), holder.component && [' by ', h('code', {}, holder.component)], ': ', chain(holder.chain))));

const growth = (incident, path) => incident.growth && [h('p', { class: 'note' }, `Growth by first touch: ${bytes(incident.growth.grown_bytes)} in ${incident.growth.samples} samples, ${incident.growth.lost} lost. It shows neither who allocated nor who keeps the memory.`),
  incident.growth.file && h('p', {}, h('a', { href: `${path}/flame?capture=${encodeURIComponent(incident.growth.file)}` }, 'Its flame graph')),
  (incident.growth.places || []).length > 0 && table('What grew it', [{ name: 'Code', cell: (p) => (p.collector ? 'threads of a garbage collector' : h('code', {}, p.code || 'no named function of the program')) }, { name: 'For', cell: (p) => p.operation || '–' },
    { name: 'Over time', cell: (p) => ({ persistent: 'all the time', one_off: 'one-off' }[p.pattern] || '–') },
    { name: 'Bytes', number: true, cell: (p) => bytes(p.bytes) }, { name: 'Share', number: true, cell: (p) => percent(p.share) }], incident.growth.places),
  (incident.growth.notes || []).map((note) => h('p', { class: 'note' }, note))];

const goroutines = (incident) => (incident.goroutines || []).length > 0 && table('Goroutines', [
  { name: 'Count', number: true, cell: (g) => g.count.toLocaleString('en') }, { name: 'State', cell: (g) => words(g.state) },
  { name: 'Stack', cell: (g) => h('code', {}, (g.stack || []).slice(0, 6).join(' < ')) }], incident.goroutines);

function captures(incident, path) {
  const rows = incident.captures || [];
  const file = (c) => c.file && c.result === 'ok' && [h('a', { href: `${path}/flame?capture=${encodeURIComponent(c.file)}` }, 'flame graph'), ' · ', h('a', { href: `${path}/files/${encodeURIComponent(c.file)}` }, 'download')];
  return rows.length > 0 && table('Captures', [
    { name: 'Before the kill', number: true, cell: (c) => (c.lead_seconds === null || c.lead_seconds === undefined ? '–' : duration(Math.abs(c.lead_seconds)) + (c.lead_seconds < 0 ? ' after' : '')) },
    { name: 'How', cell: (c) => words(c.method) }, { name: 'Why', cell: (c) => words(c.trigger) }, { name: 'Result', cell: (c) => [words(c.result), c.reason && ` (${words(c.reason)})`] },
    { name: 'Heap in use', number: true, cell: (c) => bytes(c.inuse_bytes) }, { name: 'Profile', cell: (c) => file(c) || '–' }], rows);
}

// The earlier of two kills first: what the later one held more is what a reader looks for.
const compared = (...two) => new URLSearchParams(Object.fromEntries(two.sort((a, b) => (a.time < b.time ? -1 : 1)).map((one, i) => ['ab'[i], one.id])));

const others = (context, incident) => context.others.length > 0 && table('Other kills', [
  { name: 'When', cell: (o) => h('a', { href: incidentPath(o.id) }, age(o.time)) }, { name: 'Pod', cell: (o) => o.pod || o.name }, { name: 'Cause', cell: (o) => words(o.cause) },
  { name: 'Limit', number: true, cell: (o) => bytes(o.limit_bytes) },
  { name: '', cell: (o) => o.comparable && h('a', { href: `/compare?${compared(o, incident)}` }, 'compare') }], context.others);

function why(incident) {
  const verdict = incident.verdict;
  if (!verdict) return null;
  return [h('ul', {}, (verdict.why || []).map((line) => h('li', {}, line))), (verdict.also || []).map((other) => h('p', { class: 'note' }, `Also possible: ${words(other.cause)} (${percent(other.confidence)}). ${(other.why || []).join('; ')}`)),
    verdict.suggested_limit_bytes && h('p', {}, `A limit that would fit: ${verdict.suggested_limit_is_lower_bound ? 'at least ' : ''}${bytes(verdict.suggested_limit_bytes)}. ${verdict.suggested_limit_why || ''}`)];
}

function trend(incident) {
  const sites = (incident.trend && incident.trend.sites) || [], leaks = sites.filter((site) => site.judgement !== 'not_called'), rest = sites.length - leaks.length;
  return leaks.length > 0 && [table('Call sites over time', [
  { name: 'Code', cell: (site) => h('code', {}, (site.frames || []).slice(0, 3).join(' < ')) }, { name: 'Judgement', cell: (site) => words(site.judgement) },
  { name: 'First', number: true, cell: (site) => bytes(site.first_live_bytes) }, { name: 'Last', number: true, cell: (site) => bytes(site.last_live_bytes) },
  { name: 'Per second', number: true, cell: (site) => amount(site.slope_bytes_per_second || 0, 'bytes') }], leaks.slice(0, 20)), rest > 0 && h('p', { class: 'note' }, `Call sites that grew but are not shown to leak: ${rest}`)];
}

// A button only where the page behind it has something to show, else why there is none.
function buttons({ best, before, growth }, path) {
  const held = best && best !== growth && `${path}/flame`, grew = before ? `${path}/flame?mode=growth` : growth && `${path}/flame?capture=${encodeURIComponent(growth)}`;
  const missing = [!held && 'No flame graph: neither a heap nor contents were read.', !grew && 'No graph of what grew: there is no earlier reading, and growth was not sampled.'].filter(Boolean);
  return [h('p', { class: 'links' }, held && h('a', { class: 'button', href: held }, 'Flame graph'), grew && h('a', { class: 'button', href: grew }, 'What grew'), h('a', { class: 'button', href: `${path}.tar.gz` }, 'Download all')),
    missing.length > 0 && h('p', { class: 'note' }, missing.join(' '))];
}

// Lines of a configuration file belong together, commands are copied one by one.
const steps = (context) => context.next_steps.map(({ what, commands }) => [h('p', {}, what), (commands.some((line) => line.startsWith(' ')) ? [commands.join('\n')] : commands).map(command)]);

export async function start([id]) {
  const [incident, context] = await Promise.all([get(apiPath(id)), get(`${apiPath(id)}/context`)]);
  const path = incidentPath(id), name = nameOf(incident);
  show(name, h('h1', {}, name), answerOf(incident),
    buttons(context.profiles, path), figures(incident), section('Memory before the kill', timeline(incident)), section('What it was made of', composition(incident, path)),
    section('Who keeps it', holders(incident)), section('What fills it', fillers(incident)), section('Endpoints and jobs', operations(incident)), section('What grew it', growth(incident, path)), context.goroutines_matter && section('Goroutines', goroutines(incident)),
    section('Why we think so', why(incident)), section('Call sites over time', trend(incident)), section('Captures', captures(incident, path)),
    section('Other kills of this workload', others(context, incident)),
    section('Next steps', steps(context), h('p', {}, 'All of it, in a terminal:'), command(`oomwitness show ${context.directory} --full`)),
    section('Files', h('ul', { class: 'files' }, context.files.map((f) => h('li', {}, h('a', { href: `${path}/files/${encodeURIComponent(f.name)}` }, f.name), ` ${bytes(f.bytes)}`)))),
    (incident.notes || []).length > 0 && h('details', {}, h('summary', {}, `${incident.notes.length} notes on what is not known`), h('ul', {}, incident.notes.map((note) => h('li', {}, note)))));
}
