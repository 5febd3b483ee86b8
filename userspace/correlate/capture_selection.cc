// SPDX-License-Identifier: Apache-2.0
// Selects the captures that an incident carries.
#include <algorithm>
#include <map>

#include "correlate/capture_selection.h"

namespace oomw {

namespace {

bool is_victim(ProcessKey process, const KillEvidence& evidence) {
  return std::any_of(evidence.kills.begin(), evidence.kills.end(), [&](const OomKill& kill) {
    const bool known = process.start_ticks != 0 && kill.victim.start_ticks != 0;
    return kill.victim.pid == process.pid && (!known || kill.victim.start_ticks == process.start_ticks);
  });
}

bool was_gone_before(ProcessKey process, const KillEvidence& evidence, const MemoryModel& model) {
  if (process.pid == 0) return false;  // an attempt that found no process
  const ProcessState* state = model.find_process(process);
  return state == nullptr || (state->exited_at && *state->exited_at < evidence.first);
}

// From before this container began: a capture of its own cgroup, or an attempt at a limit above that found no process.
bool is_of_earlier_life(const CaptureFinished& capture, const KillEvidence& evidence, const MemoryModel& model) {
  const bool is_before = evidence.container_created && capture.started < *evidence.container_created;
  return is_before && (capture.process.pid == 0 || model.is_under(capture.cgroup, evidence.container));
}

using Selected = std::vector<const CaptureFinished*>;  // oldest first

void keep_newest(Selected& captures, std::size_t max) {
  if (captures.size() > max) captures.erase(captures.begin(), captures.end() - static_cast<std::ptrdiff_t>(max));
}

// Captures that must not be cut: the newest of each method, a victim's preferred; every walk at the kill, because it
// is the last state of each victim of a group kill; and a victim's first, which the last one is compared with.
Selected must_keep(const Selected& captures, const KillEvidence& evidence) {
  std::map<CaptureMethod, const CaptureFinished*> best;
  Selected walks;
  for (const CaptureFinished* capture : captures) {
    if (capture->method == CaptureMethod::kAtKill && walks.size() < kMaxWalks) {
      walks.push_back(capture);
      continue;
    }
    const CaptureFinished*& chosen = best[capture->method];
    const bool is_better =
        chosen == nullptr || is_victim(capture->process, evidence) || !is_victim(chosen->process, evidence);
    if (is_better) chosen = capture;
  }
  for (const auto& [method, capture] : best) walks.push_back(capture);
  const auto first =
      std::ranges::find_if(captures, [&](const auto* capture) { return is_victim(capture->process, evidence); });
  if (first != captures.end() && std::ranges::find(walks, *first) == walks.end()) walks.push_back(*first);
  return walks;
}

Selected cut_successes(const Selected& all, const KillEvidence& evidence, std::size_t max) {
  Selected kept = must_keep(all, evidence);
  for (auto it = all.rbegin(); it != all.rend() && kept.size() < max; ++it) {
    if (std::find(kept.begin(), kept.end(), *it) == kept.end()) kept.push_back(*it);
  }
  return kept;
}

}  // namespace

bool belongs(const CaptureFinished& capture, const KillEvidence& evidence, const MemoryModel& model,
             const CaptureSelection& selection) {
  const bool is_of_victim = capture.process.pid != 0 && is_victim(capture.process, evidence);
  const bool is_walk = is_of_victim && capture.method == CaptureMethod::kAtKill;
  const Nanoseconds late = is_walk ? selection.amend_walks : selection.amend;
  if (capture.time < evidence.first - selection.lookback || capture.time > evidence.last + late) return false;
  if (is_of_victim) return true;
  // A capture that began after the kill shows another life of the container, or what a survivor did later.
  if (capture.started > evidence.last) return false;
  const bool is_ours =
      (evidence.owner && capture.cgroup == evidence.owner) || model.is_under(capture.cgroup, evidence.container);
  if (!is_ours || is_of_earlier_life(capture, evidence, model)) return false;
  return !was_gone_before(capture.process, evidence, model);
}

std::vector<CaptureFinished> select_captures(const KillEvidence& evidence,
                                             const std::vector<const CaptureFinished*>& captures,
                                             const MemoryModel& model, const CaptureSelection& selection) {
  Selected successes, attempts;
  for (const CaptureFinished* capture : captures) {
    if (!belongs(*capture, evidence, model, selection)) continue;
    (capture->result == CaptureResult::kOk ? successes : attempts).push_back(capture);
  }
  Selected kept = cut_successes(successes, evidence, selection.max_captures);
  keep_newest(attempts, kMaxAttempts);
  kept.insert(kept.end(), attempts.begin(), attempts.end());
  std::stable_sort(kept.begin(), kept.end(), [](const auto* a, const auto* b) { return a->time < b->time; });
  std::vector<CaptureFinished> result;
  for (const CaptureFinished* capture : kept) result.push_back(*capture);
  return result;
}

}  // namespace oomw
