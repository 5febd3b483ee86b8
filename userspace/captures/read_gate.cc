// SPDX-License-Identifier: Apache-2.0
#include "captures/read_gate.h"

#include <algorithm>

#include "base/patience.h"

namespace oomw {

ReadGate::Pass ReadGate::enter(MonotonicTime deadline) {
  // Waits in steps, since a reader past its deadline does not wake the others.
  constexpr Nanoseconds kStep = std::chrono::milliseconds(50);
  std::unique_lock lock(mutex_);
  while (inside_ != 0 && clock_.now() - inside_deadline_ < patient(kPatience)) {
    const Nanoseconds left = deadline - clock_.now();
    if (left <= Nanoseconds::zero()) return {*this, 0};
    left_.wait_for(lock, std::min(left, kStep));
  }
  inside_ = ++last_;
  inside_deadline_ = deadline;
  return {*this, inside_};
}

void ReadGate::leave(std::uint64_t number) {
  {
    const std::lock_guard lock(mutex_);
    if (number == 0 || inside_ != number) return;
    inside_ = 0;
  }
  left_.notify_one();
}

}  // namespace oomw
