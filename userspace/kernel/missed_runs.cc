// SPDX-License-Identifier: Apache-2.0
#include "kernel/missed_runs.h"

#include <algorithm>
#include <numeric>

#include "kernel/stats.h"

namespace oomw {

MissedRuns::MissedRuns() : read_([](const LoadedProgram& program) { return read_program_stats(program).missed; }) {}

std::uint64_t MissedRuns::total(const std::vector<LoadedProgram>& programs) {
  known_.resize(programs.size());
  for (std::size_t i = 0; i < std::min(kPerCall, programs.size()); ++i) {
    if (next_ >= programs.size()) next_ = 0;
    known_[next_] = read_(programs[next_]);
    ++next_;
  }
  return std::accumulate(known_.begin(), known_.end(), std::uint64_t{0});
}

}  // namespace oomw
