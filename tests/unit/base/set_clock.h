// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "base/clock.h"

namespace oomw::test {

// Stands where a test sets it, 100 s after the start at first.
class SetClock final : public Clock {
 public:
  [[nodiscard]] MonotonicTime now() const override { return time; }
  [[nodiscard]] WallTime wall_now() const override { return {}; }
  MonotonicTime time = MonotonicTime{} + std::chrono::seconds(100);
};

}  // namespace oomw::test
