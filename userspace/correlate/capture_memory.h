// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "correlate/kill_evidence.h"
#include "correlate/number_index.h"
#include "events/event.h"
#include "model/memory_model.h"

namespace oomw {

// Captures of all cgroups, kept for later kills. Core thread.
//   - bounded: captures older than `lookback` are dropped, and at most `max` are kept; failed attempts are dropped
//     before profiles, the oldest first;
//   - of several attempts that failed in the same way only the newest is kept: the others add nothing;
//   - adding a capture and finding those of a decision cost O(log n) each; neither walks over all captures.
class CaptureMemory {
 public:
  CaptureMemory(Nanoseconds lookback, std::size_t max) : lookback_(lookback), max_(max) {}
  void add(const CaptureFinished& capture, const MemoryModel& model);
  // Captures of a victim, of the limit's owner, or of the container and its descendants, in order of arrival.
  // Valid until the next add().
  [[nodiscard]] std::vector<const CaptureFinished*> about(const KillEvidence& evidence) const;
  [[nodiscard]] std::size_t size() const { return captures_.size(); }

 private:
  struct Remembered {
    CaptureFinished capture;
    std::vector<CgroupId> above;  // its cgroup and that cgroup's ancestors at the time of the capture
  };
  using Attempt = std::tuple<CaptureResult, CgroupId, ProcessKey, CaptureMethod, CaptureReason>;
  [[nodiscard]] static Attempt attempt_of(const CaptureFinished& capture);
  void forget(std::uint64_t number);
  void make_room(MonotonicTime now);

  Nanoseconds lookback_;
  std::size_t max_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Remembered> captures_;  // by number, in order of arrival
  std::set<std::uint64_t> failed_;
  std::map<Attempt, std::uint64_t> attempts_;
  NumberIndex<std::int32_t> by_pid_;
  NumberIndex<CgroupId> by_cgroup_;
  NumberIndex<CgroupId> below_;  // also those of descendants
};

}  // namespace oomw
