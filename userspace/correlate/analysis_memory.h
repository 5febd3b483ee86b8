// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <vector>

#include "events/event.h"

namespace oomw {

// Whether it is of what a process left behind, not of its memory.
[[nodiscard]] inline bool is_after_kill(const HeapAnalysed& analysed) {
  return analysed.trigger.kind == CaptureTrigger::Kind::kOomKill;
}
// Whether it found out anything of a living process's memory.
[[nodiscard]] inline bool has_read(const HeapAnalysed& analysed) {
  return analysed.result == CaptureResult::kOk && !is_after_kill(analysed);
}

// Results of analyses, kept for later kills. Core thread.
//   - of each process and runtime the newest two that succeeded, so that their growth can be seen, the newest that
//     failed, and what was read after the kill; no composition alone once objects were read;
//   - bounded in processes and bytes; the least recently updated process makes room.
class AnalysisMemory {
 public:
  static constexpr std::size_t kMaxProcesses = 256;
  static constexpr std::uint64_t kMaxBytes = 4u << 20;
  static constexpr std::size_t kMaxOfOne = 12;  // four for each runtime; a process has one or two

  void add(const HeapAnalysed& analysed);
  // Those that ended by `until`, oldest first. Failures also later: the kill itself may be their reason; and those that
  // the kill asked for.
  [[nodiscard]] std::vector<HeapAnalysed> of(ProcessKey process, MonotonicTime until) const;
  [[nodiscard]] std::size_t size() const { return processes_.size(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  struct Known {
    ProcessKey process;
    std::vector<HeapAnalysed> analyses;  // oldest first
    std::uint64_t bytes = 0;
  };
  void forget_first();

  std::deque<Known> processes_;  // least recently updated first
  std::uint64_t bytes_ = 0;
};

}  // namespace oomw
