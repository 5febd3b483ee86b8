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

bool is_composition_alone(const HeapAnalysed& one) { return has_read(one) && one.sampled_ratio == 0.0; }

// Of its objects. A process that grows fast is read for its composition alone near its limit: that replaces none of
// these.
bool says_more(const HeapAnalysed& one) { return has_read(one) && !is_composition_alone(one); }

// A process that its runtime's own row reads is not read by that for any program.
bool says_less(const HeapAnalysed& one, const HeapAnalysed& than) {
  return is_composition_alone(one) || (one.of == RuntimeKind::kNative && than.of != RuntimeKind::kNative);
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
  if (says_more(analysed)) {
    std::erase_if(entry.analyses, [&](const HeapAnalysed& one) { return says_less(one, analysed); });
  }
  const bool is_more_known = is_composition_alone(analysed) && std::ranges::any_of(entry.analyses, says_more);
  if (!is_more_known) entry.analyses.push_back(analysed);
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
