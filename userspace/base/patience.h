// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "base/clock.h"

namespace oomw {

// What the daemon allows a reading, a file or an answer before it gives it up is what they take on a node in order.
// `[testing] patience` lengthens all of it by one factor, where an emulated CPU or a crowd of tests has them take
// longer. Set before threads start.
inline std::atomic<unsigned> patience_factor{1};

[[nodiscard]] inline Nanoseconds patient(Nanoseconds limit) {
  return limit * patience_factor.load(std::memory_order_relaxed);
}

}  // namespace oomw
