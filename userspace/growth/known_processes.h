// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <tuple>
#include <utility>

namespace oomw::growth {

// What is known of processes, so that samples of one that died are named by what was read before: of the kMost
// that were sampled last. One thread.
template <typename Known, std::size_t kMost>
class KnownProcesses {
 public:
  using Process = std::pair<std::uint32_t, std::uint64_t>;  // its number, its start

  // Valid until the next call.
  [[nodiscard]] Known& get(Process process) {
    const auto known = std::ranges::find(processes_, process, &Entry::first);
    if (known != processes_.end()) {
      processes_.splice(processes_.begin(), processes_, known);
    } else {
      if (processes_.size() >= kMost) processes_.pop_back();
      processes_.emplace_front(std::piecewise_construct, std::forward_as_tuple(process), std::forward_as_tuple());
    }
    return processes_.front().second;
  }

 private:
  using Entry = std::pair<Process, Known>;
  std::list<Entry> processes_;  // the last used first
};

}  // namespace oomw::growth
