// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "base/clock.h"

namespace oomw::test {

// From the machine's time on, by which its processes were started; workers read it too.
class SteppingClock final : public Clock {
 public:
  [[nodiscard]] MonotonicTime now() const override { return {ns_}; }
  [[nodiscard]] WallTime wall_now() const override { return {ns_}; }
  void advance(Nanoseconds by) { ns_ += by.count(); }

 private:
  std::atomic<std::int64_t> ns_ = SystemClock().now().ns;
};

}  // namespace oomw::test
