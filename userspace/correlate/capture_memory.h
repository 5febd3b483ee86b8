// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "correlate/kill_evidence.h"
#include "correlate/number_index.h"
#include "events/event.h"
#include "model/memory_model.h"

namespace oomw {

// The captures that a kill to come may need, of all cgroups. Core thread.
//   - bounded: what is older than `lookback` goes, and never more than `max` stay: an attempt goes
//     before a profile, the oldest first;
//   - of attempts that failed alike only the newest stays: more of them say no more;
//   - adding one and finding those of a decision costs O(log n) each, not a walk over all.
class CaptureMemory {
 public:
  CaptureMemory(Nanoseconds lookback, std::size_t max) : lookback_(lookback), max_(max) {}
  void add(const CaptureFinished& capture, const MemoryModel& model);
  // Of a victim, of the limit's owner, or of the container and below it: in the order they came.
  // Valid until the next add().
  [[nodiscard]] std::vector<const CaptureFinished*> about(const KillEvidence& evidence) const;
  [[nodiscard]] std::size_t size() const { return captures_.size(); }

 private:
  struct Remembered {
    CaptureFinished capture;
    std::vector<CgroupId> above;  // its cgroup and those above it, when it was taken
  };
  using Attempt = std::tuple<CaptureResult, CgroupId, ProcessKey, CaptureMethod, CaptureReason>;
  [[nodiscard]] static Attempt attempt_of(const CaptureFinished& capture);
  void forget(std::uint64_t number);
  void make_room(MonotonicTime now);

  Nanoseconds lookback_;
  std::size_t max_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Remembered> captures_;  // by number, in the order they came
  std::set<std::uint64_t> failed_;
  std::map<Attempt, std::uint64_t> attempts_;
  NumberIndex<std::int32_t> by_pid_;
  NumberIndex<CgroupId> by_cgroup_;
  NumberIndex<CgroupId> below_;  // also those of cgroups below
};

}  // namespace oomw
