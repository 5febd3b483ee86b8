// SPDX-License-Identifier: Apache-2.0
#include "memory/inspections_under_way.h"

#include <algorithm>

#include "base/patience.h"

namespace oomw {

InspectionsUnderWay::Inspection InspectionsUnderWay::begin(const std::string& file) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t number = next_++;
  begun_.emplace(number, Begun{file, clock_.now()});
  return {*this, number};
}

void InspectionsUnderWay::end(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  begun_.erase(number);
}

bool InspectionsUnderWay::hangs(const std::string& file) const {
  const std::lock_guard lock(mutex_);
  const MonotonicTime now = clock_.now();
  return std::ranges::any_of(begun_, [&](const auto& entry) {
    return entry.second.file == file && now - entry.second.at > patient(kPatience);
  });
}

}  // namespace oomw
