// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <optional>

#include "events/growth_profile.h"
#include "facts/operation_patterns.h"
#include "incident/incident_growth.h"

namespace oomw {

// The newest growth profile of each process, kept for a later kill. Core thread. Bounded in processes and bytes: the
// least recently updated makes room. That of a process which has ended is kept for the kill that may still be reported,
// and for the incident's revisions.
class GrowthMemory {
 public:
  static constexpr std::size_t kMaxProcesses = 64;
  static constexpr std::uint64_t kMaxBytes = 8u << 20;

  static constexpr Nanoseconds kKeptAfterEnd = std::chrono::minutes(2);

  void add(const GrowthProfile& profile);
  void on_exit(ProcessKey process, MonotonicTime at);
  // nullptr: none that began before `until`. A kill's own profile is made after it.
  [[nodiscard]] const GrowthProfile* of(ProcessKey process, MonotonicTime until) const;
  [[nodiscard]] std::size_t size() const { return profiles_.size(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  struct Kept {
    GrowthProfile profile;
    std::optional<MonotonicTime> ended;
  };
  void erase(std::size_t at);

  std::deque<Kept> profiles_;  // least recently updated first
  std::uint64_t bytes_ = 0;
};

// For the incident: with operations, bounded, its texts printable. Pure.
[[nodiscard]] IncidentGrowth growth_of(const GrowthProfile& profile, std::int64_t wall_offset_ns,
                                       const OperationPatterns& patterns = {});

}  // namespace oomw
