// SPDX-License-Identifier: Apache-2.0
#include "captures/memstats_budget.h"

#include <algorithm>

namespace oomw {

bool MemStatsBudget::take(MonotonicTime now) {
  const std::lock_guard lock(mutex_);
  const MonotonicTime from = std::max(full_at_, now);
  if (from - now > (kAtOnce - 1) * kRefill) {
    ++left_out_;
    return false;
  }
  full_at_ = from + kRefill;
  return true;
}

std::uint64_t MemStatsBudget::left_out() const {
  const std::lock_guard lock(mutex_);
  return left_out_;
}

}  // namespace oomw
