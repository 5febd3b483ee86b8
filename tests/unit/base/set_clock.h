// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace oomw::test {

inline MonotonicTime at(Nanoseconds since_boot) { return MonotonicTime{} + since_boot; }

// Stands where a test sets it. Any thread.
class SetClock final : public Clock {
 public:
  explicit SetClock(MonotonicTime start = {100'000'000'000}, WallTime wall = {}) : ns_(start.ns), wall_(wall) {}
  [[nodiscard]] MonotonicTime now() const override { return {ns_}; }
  [[nodiscard]] WallTime wall_now() const override { return wall_; }
  void advance(Nanoseconds by) { ns_ += by.count(); }

 private:
  std::atomic<std::int64_t> ns_;
  const WallTime wall_;
};

}  // namespace oomw::test
