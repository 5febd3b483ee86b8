// SPDX-License-Identifier: Apache-2.0
#include "correlate/capture_memory.h"

namespace oomw {

CaptureMemory::Attempt CaptureMemory::attempt_of(const CaptureFinished& capture) {
  return {capture.result, capture.cgroup, capture.process, capture.method, capture.reason};
}

void CaptureMemory::add(const CaptureFinished& capture, const MemoryModel& model) {
  const bool is_attempt = capture.result != CaptureResult::kOk;
  if (is_attempt) {
    if (const auto same = attempts_.find(attempt_of(capture)); same != attempts_.end()) forget(same->second);
  }
  const std::uint64_t number = next_++;
  const Remembered& kept = captures_.emplace(number, Remembered{capture, model.path_up(capture.cgroup)}).first->second;
  by_pid_.add(capture.process.pid, number);
  by_cgroup_.add(capture.cgroup, number);
  for (const CgroupId above : kept.above) below_.add(above, number);
  if (is_attempt) {
    failed_.insert(number);
    attempts_[attempt_of(capture)] = number;
  }
  make_room(capture.time);
}

void CaptureMemory::make_room(MonotonicTime now) {
  while (captures_.begin()->second.capture.time < now - lookback_) forget(captures_.begin()->first);
  while (captures_.size() > max_) forget(failed_.empty() ? captures_.begin()->first : *failed_.begin());
}

void CaptureMemory::forget(std::uint64_t number) {
  const auto found = captures_.find(number);
  const auto& [capture, above] = found->second;
  by_pid_.remove(capture.process.pid, number);
  by_cgroup_.remove(capture.cgroup, number);
  for (const CgroupId cgroup : above) below_.remove(cgroup, number);
  if (failed_.erase(number) != 0) attempts_.erase(attempt_of(capture));
  captures_.erase(found);
}

std::vector<const CaptureFinished*> CaptureMemory::about(const KillEvidence& evidence) const {
  std::set<std::uint64_t> numbers = below_.all(evidence.container);
  const auto add_all = [&](const std::set<std::uint64_t>& more) { numbers.insert(more.begin(), more.end()); };
  if (evidence.owner) add_all(by_cgroup_.all(evidence.owner));
  for (const OomKill& kill : evidence.kills) add_all(by_pid_.all(kill.victim.pid));
  std::vector<const CaptureFinished*> result;
  result.reserve(numbers.size());
  for (const std::uint64_t number : numbers) result.push_back(&captures_.at(number).capture);
  return result;
}

}  // namespace oomw
