// SPDX-License-Identifier: Apache-2.0
#include "correlate/analysis_memory.h"

#include <algorithm>
#include <numeric>

namespace oomw {
namespace {

// Drops the oldest of those like it, so that `most` are left.
void thin(std::vector<HeapAnalysed>& analyses, const HeapAnalysed& like, std::size_t most) {
  const auto is_alike = [&](const HeapAnalysed& one) {
    return one.of == like.of && is_after_kill(one) == is_after_kill(like) &&
           (one.result == CaptureResult::kOk) == (like.result == CaptureResult::kOk);
  };
  while (static_cast<std::size_t>(std::ranges::count_if(analyses, is_alike)) > most) {
    analyses.erase(std::ranges::find_if(analyses, is_alike));
  }
}

// A process that its runtime's own row reads is not read by that for any program. So one of kNative beside it is of the
// composition alone, read when there was no time for more.
void drop_what_is_less(std::vector<HeapAnalysed>& analyses, const HeapAnalysed& than) {
  if (than.result != CaptureResult::kOk || is_after_kill(than) || than.of == RuntimeKind::kNative) return;
  std::erase_if(analyses, [](const HeapAnalysed& one) { return one.of == RuntimeKind::kNative; });
}

}  // namespace

void AnalysisMemory::forget_first() {
  bytes_ -= processes_.front().bytes;
  processes_.pop_front();
}

void AnalysisMemory::add(const HeapAnalysed& analysed) {
  const auto known = std::ranges::find(processes_, analysed.process, &Known::process);
  Known entry{analysed.process, {}, 0};
  if (known != processes_.end()) {
    entry = std::move(*known);
    bytes_ -= entry.bytes;
    processes_.erase(known);
  }
  drop_what_is_less(entry.analyses, analysed);
  entry.analyses.push_back(analysed);
  thin(entry.analyses, analysed, analysed.result == CaptureResult::kOk ? 2 : 1);
  if (entry.analyses.size() > kMaxOfOne) entry.analyses.erase(entry.analyses.begin());
  entry.bytes = std::accumulate(entry.analyses.begin(), entry.analyses.end(), std::uint64_t{0},
                                [](std::uint64_t sum, const HeapAnalysed& one) { return sum + size_of(one); });
  bytes_ += entry.bytes;
  processes_.push_back(std::move(entry));
  while (processes_.size() > 1 && (processes_.size() > kMaxProcesses || bytes_ > kMaxBytes)) forget_first();
}

std::vector<HeapAnalysed> AnalysisMemory::of(ProcessKey process, MonotonicTime until) const {
  std::vector<HeapAnalysed> found;
  for (const Known& known : processes_) {
    const bool is_same = known.process.pid == process.pid &&
                         (process.start_ticks == 0 || known.process.start_ticks == process.start_ticks);
    if (!is_same) continue;
    std::ranges::copy_if(known.analyses, std::back_inserter(found), [&](const HeapAnalysed& one) {
      return one.time <= until || one.result != CaptureResult::kOk || is_after_kill(one);
    });
  }
  return found;
}

}  // namespace oomw
