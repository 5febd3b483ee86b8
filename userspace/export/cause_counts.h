// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/clock.h"

namespace oomw {

struct Incident;

// Victims by the cause of their incident, for a counter. A counter cannot take anything back, and what is read within
// seconds of a kill may change the verdict: an incident counts kSettle after it was first written, by its newest cause.
// What changes it later (a walk that took longer) is not counted anew.
// Bounded: the oldest of more than kMaxWaiting count at once, causes beyond kMaxCauses as "other".
class CauseCounts {
 public:
  static constexpr Nanoseconds kSettle =
      std::chrono::seconds(6);  // captures amend an incident for 5 s, and up to 1 s more
  static constexpr std::size_t kMaxWaiting = 1'024, kMaxCauses = 32;

  // It was written, or written anew.
  void note(const Incident& incident, bool is_revision, MonotonicTime now);
  // The totals of those that have settled.
  [[nodiscard]] const std::map<std::string, std::uint64_t>& settled(MonotonicTime now);

 private:
  struct Waiting {
    MonotonicTime since;
    std::string cause;
    std::uint64_t victims = 0;
  };

  void settle(std::map<std::string, Waiting>::iterator one);
  void settle_oldest();

  std::map<std::string, Waiting> waiting_;  // by the incident's id
  std::map<std::string, std::uint64_t> counts_;
};

}  // namespace oomw
