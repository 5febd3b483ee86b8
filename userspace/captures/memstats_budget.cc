// SPDX-License-Identifier: Apache-2.0
#include "captures/memstats_budget.h"

namespace oomw {

bool MemStatsBudget::take(MonotonicTime now) {
  const std::lock_guard lock(mutex_);
  const bool is_taken = limit_.take(now);
  if (!is_taken) ++left_out_;
  return is_taken;
}

std::uint64_t MemStatsBudget::left_out() const {
  const std::lock_guard lock(mutex_);
  return left_out_;
}

}  // namespace oomw
