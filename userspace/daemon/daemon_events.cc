// SPDX-License-Identifier: Apache-2.0
// How each event is handled, and what follows from a batch of them.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/log.h"
#include "daemon/daemon_impl.h"
#include "model/limit_scope.h"
#include "model/pod_annotations.h"
#include "store/incident_summary.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxProcessesRead = 64;  // per cgroup that crossed a level
constexpr std::size_t kMaxCrossed = 64;        // 0.1 ms each to read: the next kill waits for no more than this
// A memory.stat younger than this describes the kill better than one read after it, when the victim's pages may be
// gone already.
constexpr Nanoseconds kStatFresh = std::chrono::seconds(3);
constexpr std::size_t kMaxSharersRead = 16;                       // of a pod's limit
constexpr Nanoseconds kRecount = std::chrono::milliseconds(600);  // > KillAccounting::kGrace

}  // namespace

std::string Daemon::Impl::name_place(CgroupId cgroup) const {
  const CgroupState* state = pipeline->model().find_cgroup(cgroup);
  if (state == nullptr) return "";
  const ContainerIdentity* identity = pipeline->model().identity_of(cgroup);
  return place_name(identity == nullptr ? ContainerIdentity{} : *identity, state->path);
}

// Every event of every source passes here once, in order. Whatever is read or decided here goes into the queue.
void Daemon::Impl::step(const Event& event) {
  if (recorder) recorder->write(event);
  sampler->on_event(event);
  if (files) files->on_event(event);
  if (oomd) oomd->on_event(event);
  if (watermark_gate) watermark_gate->on_event(event);
  if (const auto* kill = std::get_if<OomKill>(&event)) {
    after_kill(pipeline->apply(*kill, {}));
  } else {
    pipeline->apply(event);
  }
  if (options.on_event && !is_standing_by()) options.on_event(event, place_of);
  if (const auto* crossing = std::get_if<WatermarkCrossed>(&event)) after_watermark(*crossing);
  if (const auto* sample = std::get_if<MemorySampled>(&event)) after_sample(*sample);
  if (const auto* exec = std::get_if<ProcessExec>(&event)) walk_captures->on_exec(*exec);
  if (const auto* seen = std::get_if<ProcessSeen>(&event)) walk_captures->on_seen(*seen);
  if (const auto* walk = std::get_if<HeapWalked>(&event)) walk_captures->on_walked(*walk, *scheduler);
  if (const auto* analysed = std::get_if<HeapAnalysed>(&event)) walk_captures->on_analysed(*analysed);
  if (const auto* analysed = std::get_if<HeapAnalysed>(&event)) add_to_contents(*analysed);
  if (const auto* exit = std::get_if<ProcessExit>(&event)) after_exit(*exit);
  if (const auto* capture = std::get_if<CaptureFinished>(&event)) after_capture(*capture);
  if (const auto* removed = std::get_if<CgroupRemoved>(&event)) {
    kernel->forget(removed->cgroup);
    half_full.forget(removed->cgroup);
    if (analyses) analyses->forget(removed->cgroup);
  }
}

// A container that leaks at full speed crosses six levels in 2 ms, and the crossings come in one batch: its files are
// read once for all of them.
void Daemon::Impl::after_watermark(const WatermarkCrossed& crossing) {
  crossed.push_back(crossing);
  warm_up_reader();
  if (crossed.size() >= kMaxCrossed) read_crossed();
}

// Returns the cgroups whose memory.stat was read.
std::set<CgroupId> Daemon::Impl::read_crossed() {
  std::map<CgroupId, bool> readings;  // cgroup -> with memory.stat
  std::set<CgroupId> leaves;
  for (const WatermarkCrossed& crossing : std::exchange(crossed, {})) {
    if (growth) growing.push_back(crossing);
    const std::vector<std::uint32_t>& levels = config.triggers.capture_percents;
    const bool may_capture = !levels.empty() && crossing.level_percent >= levels.front();
    leaves.insert(crossing.leaf_cgroup ? crossing.leaf_cgroup : crossing.cgroup);
    readings[crossing.cgroup] |= may_capture;
    // An ancestor's limit: the container's own usage belongs to the evidence too.
    if (crossing.leaf_cgroup) readings[crossing.leaf_cgroup] |= may_capture;
  }
  for (const CgroupId leaf : leaves) sampler->read_processes_now(leaf, kMaxProcessesRead);
  std::set<CgroupId> detailed;
  for (const auto& [cgroup, is_detailed] : readings) {
    if (sampler->sample_now(cgroup, is_detailed) && is_detailed) detailed.insert(cgroup);
  }
  return detailed;
}

void Daemon::Impl::after_kill(const ResolvedKill& resolved) {
  const OomKill& kill = resolved.kill;
  ProcessKey victim = kill.victim;
  if (analyses) {
    analyses->forget(kill.owner_cgroup);
    analyses->read_counters(kill.victim, kill.owner_cgroup);
  }
  publisher->request();
  const bool is_chosen = resolved.incident == nullptr || resolved.report == ResolvedKill::Report::kLate;
  if (resolved.report != ResolvedKill::Report::kAgain) judge_trends(victim, is_chosen);
  const std::set<CgroupId> detailed = read_crossed();
  if (pipeline->model().find_process(victim) == nullptr) {
    victim = sampler->read_process_now(victim.pid).value_or(victim);
  }
  for (const CgroupId cgroup : {kill.owner_cgroup, kill.victim_cgroup}) {
    const CgroupState* state = pipeline->model().find_cgroup(cgroup);
    if (state == nullptr) continue;
    const bool is_fresh = !state->memory_stat.empty() && kill.time - state->memory_stat_at < kStatFresh;
    const bool is_detailed = !is_fresh && !detailed.contains(cgroup);
    if (cgroup == kill.victim_cgroup) {
      sampler->sample_after_kill(cgroup, is_detailed);
    } else {
      sampler->sample_now(cgroup, is_detailed);
    }
    if (kill.owner_cgroup == kill.victim_cgroup) break;
  }
  read_sharers(resolved.place);
  // Once more after the grace, so that the kernel's own count is compared while the cgroup exists.
  (void)loop->add_once(kRecount, [this, cgroup = kill.victim_cgroup] {
    listen();
    sampler->sample_now(cgroup, false);
  });
  walk_captures->on_kill(kill, victim);
  if (growth) growth->kill(victim);
}

// For a pod's limit that several containers filled: reads the usage of each now, not in ten seconds.
void Daemon::Impl::read_sharers(const LimitPlace& place) {
  if (place.scope != LimitScope::kPod) return;
  for (std::size_t i = 1; i < std::min(place.sharers.size(), kMaxSharersRead); ++i) {
    sampler->sample_now(place.sharers[i], false);
  }
}

// A job that comes first finds the process started, or starts it itself.
void Daemon::Impl::warm_up_reader() {
  if (!warm_ups.take(clock.now())) return;
  // A start takes 50 ms, on a busy node seconds: first the one that is needed before the kill, then those for what
  // comes after it. Not by the writer alone: an incident may wait for it.
  const auto warm_up_others = [this] {
    (void)http_workers->post([this] { walk_captures->warm_up_walks(); });
    (void)writer_worker->post([this] { report_readers->warm_up(); });
  };
  const auto warm_up_first = [this, warm_up_others] {
    walk_captures->warm_up_heaps();
    (void)loop->post(warm_up_others);  // at the daemon's end the other workers are gone before this one
  };
  if (!live_worker->post(warm_up_first)) warm_up_others();
}

void Daemon::Impl::after_sample(const MemorySampled& sample) {
  if (half_full.crosses(sample)) warm_up_reader();
  if (const auto reclaim = kernel->reclaim_of(sample.cgroup, sample.time)) {
    const CgroupState* state = pipeline->model().find_cgroup(sample.cgroup);
    const bool is_news = state != nullptr && (!state->reclaim || state->reclaim->calls != reclaim->calls);
    if (is_news) queue.push(*reclaim);
  }
}

void Daemon::Impl::after_exit(const ProcessExit& exit) {
  collectors->forget(exit.process);
  walk_captures->on_exit(exit);
  if (trends) trends->on_exit(exit.process);
  if (contents_trends) contents_trends->on_exit(exit.process), contents->forget(exit.process);
  if (growth) growth->forget(exit.process);
}

void Daemon::Impl::after_capture(const CaptureFinished& capture) {
  capture_metrics.count(capture);
  const bool is_no_walk = capture.method == CaptureMethod::kAtKill && capture.result != CaptureResult::kOk;
  if (trends && is_no_walk) trends->on_no_more_readings(capture.process);
  if (capture.result == CaptureResult::kOk) {
    capture_metrics.duration_seconds.observe(to_seconds(capture.time - capture.started));
  }
}

// After every callback of the loop. Cgroups that crossed a level are read first: orders and incidents need that.
void Daemon::Impl::end_turn() {
  queue.run();
  read_crossed();
  queue.run_and_settle();
}

// Acts on the results of events, once none waits.
void Daemon::Impl::settle() {
  arm_growth();
  dispatch_orders();
  write_ready_incidents();
  save_ledger_if_changed();
}

// After the processes of the cgroups have been read. Those that were armed before go on.
void Daemon::Impl::arm_growth() {
  constexpr std::uint32_t kFromPercent = 50;
  constexpr std::size_t kMaxEach = 8;
  for (const WatermarkCrossed& crossing : std::exchange(growing, {})) {
    const CgroupId leaf = crossing.leaf_cgroup ? crossing.leaf_cgroup : crossing.cgroup;
    if (is_standing_by() || crossing.level_percent < kFromPercent) continue;
    if (why_left_alone(leaf, pipeline->model(), config.kubernetes.capture_opt_in) != CaptureReason::kNone) continue;
    for (const ProcessState* process : pipeline->model().processes_under(leaf, kMaxEach)) {
      growth->arm(process->key, crossing.cgroup, crossing.limit_bytes, owner_of(leaf));
    }
  }
}

void Daemon::Impl::dispatch_orders() {
  for (CaptureOrder& order : pipeline->take_orders()) {
    if (is_standing_by()) continue;  // the other daemon takes it
    apply_annotations(order);
    if (order.decision.action == TriggerAction::kPrepare && !prepare_budget.take(clock.now())) continue;
    scheduler->on_decision(order.decision, order.crossing, pipeline->model());
    if (!analyses || order.decision.action != TriggerAction::kCapture) continue;
    analyses->consider(scheduler->make_request(order.decision, order.crossing, pipeline->model()),
                       pipeline->model().time_to_limit(order.crossing));
  }
}

void Daemon::Impl::write_ready_incidents() {
  for (Incident& incident : pipeline->take_incidents(clock.now(), wall_offset_ns(clock))) {
    writer->write(std::move(incident));
  }
  if (const auto due = pipeline->next_incident_due()) correlator_alarm->ring_by(*due);
}

void Daemon::Impl::after_write(const Incident& incident, const StoredAt& at, const UnplacedFiles& unplaced) {
  pipeline->on_written(incident, wall_offset_ns(clock));
  causes.note(incident, at.is_revision, clock.now());
  if (!at.is_revision) observe_leads(incident);
  if (!unplaced.empty()) queue.push(FilesUnplaced{clock.now(), incident.id, unplaced});
  for (const auto& sink : options.sinks) sink->publish(incident, at);
  if (!at.is_revision) note_pod_uid(incident);
  for (const auto& outbox : outboxes) outbox->publish(incident, at);
  publisher->request();
}

void Daemon::Impl::observe_leads(const Incident& incident) {
  for (const IncidentCapture& capture : incident.captures) {
    if (capture.result == "ok") capture_metrics.lead_seconds.observe(capture.lead_seconds);
  }
}

// Saved a moment later, see LedgerPace. A daemon that ends in between does not lose the kill: the next run compares
// with the kernel's counts, and only the kill's scope is forgotten.
void Daemon::Impl::save_ledger_if_changed() {
  if (!writer || saved_ledger_version == pipeline->ledger_version() || is_ledger_armed) return;
  is_ledger_armed = true;
  publisher->request();
  (void)loop->add_once(ledger_pace.delay(clock.now()), [this] {
    is_ledger_armed = false;
    saved_ledger_version = pipeline->ledger_version();
    save_ledger();
  });
}

void Daemon::Impl::save_ledger() {
  writer->save_ledger({pipeline->ledger(), boot_id, pipeline->accounted(), heard_until()});
}

void Daemon::Impl::collect_losses() {
  LostCounts lost = kernel->lost();
  lost.merge(sampler->lost());
  lost.merge(walk_captures->lost());
  if (files) lost.merge(files->lost());
  lost[LostStage::kCollectorReadings] = collectors->dropped();
  if (analyses) lost[LostStage::kHeapAnalyses] = analyses->dropped();
  if (growth) lost[LostStage::kGrowth] = growth->dropped();
  lost[LostStage::kHungFiles] += live_worker->given_up() + (analysis_worker ? analysis_worker->given_up() : 0) +
                                 (trends ? trends->given_up() : 0) +
                                 (contents_trends ? contents_trends->given_up() : 0);
  lost[LostStage::kCrossings] = pipeline->dropped_crossings();
  lost[LostStage::kIncidentsUnbuilt] = pipeline->lost_incidents();
  lost[LostStage::kIncidentsClosedEarly] = pipeline->closed_early();
  lost[LostStage::kHeldKills] = pipeline->dropped_held();
  lost[LostStage::kKernelLogBacklog] = lost_past;
  if (writer) {
    lost[LostStage::kIncidents] = writer->backlog().dropped_incidents();
    lost[LostStage::kIncidentAmendments] = writer->backlog().dropped_amendments();
    lost[LostStage::kIncidentDetails] = writer->backlog().slimmed();
  }
  if (pods) lost[LostStage::kKubernetesPods] = pods->stats().pods_turned_away;
  lost[LostStage::kSpool] = spool->dropped();
  lost[LostStage::kLog] = log::dropped_messages();
  if (recorder) lost[LostStage::kRecording] = recorder->dropped();
  lost[LostStage::kEventQueue] = queue.dropped();
  for (const auto& [stage, total] : lost) {
    if (std::exchange(known_lost[stage], total) != total) {
      queue.push(EventsLost{clock.now(), std::string(to_string(stage)), total});
    }
  }
}
}  // namespace oomw
