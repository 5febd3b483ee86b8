// SPDX-License-Identifier: Apache-2.0
#include "correlate/collector_memory.h"

#include <algorithm>

namespace oomw {

void CollectorMemory::add(const CollectorSampled& reading) {
  const auto known = std::find_if(processes_.begin(), processes_.end(),
                                  [&](const Known& one) { return one.process == reading.process; });
  Known entry{reading.process, {}};
  if (known != processes_.end()) {
    entry = std::move(*known);
    processes_.erase(known);
  } else if (processes_.size() == kMaxProcesses) {
    processes_.pop_front();
  }
  if (entry.readings.size() == kMaxReadings) entry.readings.erase(entry.readings.begin() + 1);
  entry.readings.push_back(reading);
  processes_.push_back(std::move(entry));
}

std::vector<CollectorSampled> CollectorMemory::of(ProcessKey process, MonotonicTime until) const {
  std::vector<CollectorSampled> found;
  for (const Known& known : processes_) {
    const bool is_same = known.process.pid == process.pid &&
                         (process.start_ticks == 0 || known.process.start_ticks == process.start_ticks);
    if (!is_same) continue;
    for (const CollectorSampled& reading : known.readings) {
      if (reading.time <= until) found.push_back(reading);
    }
  }
  return found;
}

}  // namespace oomw
