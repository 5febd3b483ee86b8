// SPDX-License-Identifier: Apache-2.0
#include "incidents/correlator.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "model/kill_ledger.h"

namespace oomw {

namespace {

// One report may name the triggering process where the other does not.
bool is_same_trigger(const OomKill& a, const OomKill& b) {
  return a.trigger_pid == b.trigger_pid || a.trigger_pid == 0 || b.trigger_pid == 0;
}

bool is_same_attempt(const CaptureFinished& a, const CaptureFinished& b) {
  return a.result != CaptureResult::kOk && a.result == b.result && a.cgroup == b.cgroup && a.process == b.process &&
         a.method == b.method && a.reason == b.reason;
}

template <typename T>
void fill(std::optional<T>& target, const std::optional<T>& source) {
  if (!target) target = source;
}

}  // namespace

Correlator::Correlator(CorrelatorConfig config) : config_(config) {}

void Correlator::apply(const Event& event, const MemoryModel& model) {
  if (const auto* kill = std::get_if<OomKill>(&event)) return on_kill(*kill, model);
  if (const auto* capture = std::get_if<CaptureFinished>(&event)) return on_capture(*capture, model);
  if (!open_.empty()) on_context(event);
}

bool Correlator::is_new_victim(const OomKill& kill) const { return !seen_victims_.contains(kill.victim, kill.time); }

void Correlator::on_kill(const OomKill& kill, const MemoryModel& model) {
  close_expired(kill.time);
  if (!seen_victims_.add(kill.victim, kill.time)) return complete_victim(kill);
  const CgroupId owner = limit_owner_of(kill, model);
  Open* open = find_open(kill, owner, false);
  if (open == nullptr && open_.size() >= config_.max_open) {
    ++merged_;
    open = find_open(kill, owner, true);
    if (open == nullptr) make_room();
  }
  if (open == nullptr) {
    open_.emplace_back().evidence = evidence_of(kill, model);
    return;
  }
  KillEvidence& evidence = open->evidence;
  evidence.last = std::max(evidence.last, kill.time);
  if (evidence.kills.size() < KillEvidence::kMaxVictims) {
    evidence.kills.push_back(kill);
  } else {
    ++evidence.victims_not_listed;
  }
  if (open->written) amend_soon(*open, kill.time);
}

// The open incident of the same decision; with any_time, of any decision about the same limit.
Correlator::Open* Correlator::find_open(const OomKill& kill, CgroupId owner, bool any_time) {
  for (auto it = open_.rbegin(); it != open_.rend(); ++it) {
    const KillEvidence& evidence = it->evidence;
    if (evidence.owner != owner) continue;
    const bool is_near = kill.time <= evidence.last + config_.settle && evidence.first <= kill.time + config_.settle;
    if (any_time || (is_near && is_same_trigger(evidence.kills.front(), kill))) return &*it;
  }
  return nullptr;
}

// The oldest written one ends its amend window early. All unwritten cannot be: 1 024 decisions
// within one settle time would need as many OOM kills in 5 ms; then the oldest is lost, counted.
void Correlator::make_room() {
  auto victim = std::find_if(open_.begin(), open_.end(), [](const Open& open) { return open.written; });
  open_.erase(victim != open_.end() ? victim : open_.begin());
}

// A second source may know what the first did not (the kernel log has the rss split that
// mark_victim(int pid) lacks).
void Correlator::complete_victim(const OomKill& again) {
  for (Open& open : open_) {
    for (OomKill& kill : open.evidence.kills) {
      if (kill.victim.pid != again.victim.pid) continue;
      const bool is_news = !kill.victim_rss && again.victim_rss;
      fill(kill.victim_rss, again.victim_rss);
      fill(kill.victim_uid, again.victim_uid);
      fill(kill.victim_oom_score_adj, again.victim_oom_score_adj);
      fill(kill.owner_usage_bytes, again.owner_usage_bytes);
      fill(kill.owner_limit_bytes, again.owner_limit_bytes);
      if (is_news && open.written) amend_soon(open, again.time);
    }
  }
}

void Correlator::on_capture(const CaptureFinished& capture, const MemoryModel& model) {
  remember(capture);
  for (Open& open : open_) {
    if (open.written && belongs(capture, open.evidence, model, selection())) amend_soon(open, capture.time);
  }
}

// Repeated refusals of one kind say no more than the newest of them; and when all is full, an
// attempt goes before a profile.
void Correlator::remember(const CaptureFinished& capture) {
  std::erase_if(captures_, [&](const CaptureFinished& old) { return is_same_attempt(old, capture); });
  captures_.push_back(capture);
  while (captures_.front().time < capture.time - config_.capture_lookback) captures_.pop_front();
  if (captures_.size() <= config_.max_remembered) return;
  auto attempt = std::find_if(captures_.begin(), captures_.end(),
                              [](const CaptureFinished& old) { return old.result != CaptureResult::kOk; });
  captures_.erase(attempt != captures_.end() ? attempt : captures_.begin());
}

// Context that came after an incident was written and fills a gap in it.
void Correlator::on_context(const Event& event) {
  const MonotonicTime now = time_of(event);
  for (Open& open : open_) {
    if (!open.written) continue;
    const KillEvidence& evidence = open.evidence;
    bool is_news = false;
    if (const auto* sample = std::get_if<MemorySampled>(&event)) {
      is_news = open.lacks_memory_stat && sample->detailed && sample->cgroup == evidence.source;
    } else if (const auto* reclaim = std::get_if<ReclaimSampled>(&event)) {
      is_news = open.lacks_reclaim && reclaim->cgroup == evidence.source;
    } else if (const auto* identified = std::get_if<ContainerIdentified>(&event)) {
      is_news = identified->cgroup == evidence.container || identified->cgroup == evidence.victim_cgroup;
    } else if (const auto* seen = std::get_if<ProcessSeen>(&event)) {
      is_news = std::any_of(evidence.kills.begin(), evidence.kills.end(),
                            [&](const OomKill& kill) { return kill.victim == seen->process; });
    }
    if (is_news) amend_soon(open, now);
  }
}

void Correlator::amend_soon(Open& open, MonotonicTime now) const {
  if (!open.amend_due) open.amend_due = now + kAmendDelay;
}

MonotonicTime Correlator::due_of(const Open& open) const {
  const KillEvidence& evidence = open.evidence;
  if (!open.written) return std::min(evidence.last + config_.settle, evidence.first + kMaxSettles * config_.settle);
  return open.amend_due.value_or(evidence.first + config_.amend);
}

std::vector<Incident> Correlator::take_ready(MonotonicTime now, const MemoryModel& model, std::int64_t wall_offset_ns) {
  std::vector<Incident> ready;
  for (Open& open : open_) {
    const bool has_news = !open.written || open.amend_due.has_value();
    if (!has_news || due_of(open) > now) continue;
    if (!open.evidence.wall_offset_ns) open.evidence.wall_offset_ns = wall_offset_ns;
    ready.push_back(build_incident(open.evidence, captures_, model, selection()));
    open.written = true;
    open.amend_due.reset();
    open.lacks_memory_stat = ready.back().memory_stat.empty();
    open.lacks_reclaim = !ready.back().reclaim;
  }
  close_expired(now);
  return ready;
}

void Correlator::close_expired(MonotonicTime now) {
  std::erase_if(open_, [&](const Open& open) {
    return open.written && !open.amend_due && open.evidence.first + config_.amend <= now;
  });
}

std::optional<MonotonicTime> Correlator::next_due() const {
  std::optional<MonotonicTime> due;
  for (const Open& open : open_) due = std::min(due.value_or(due_of(open)), due_of(open));
  return due;
}

CaptureSelection Correlator::selection() const {
  return {config_.capture_lookback, config_.amend, config_.max_captures};
}

}  // namespace oomw
