// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "kubernetes/api_error.h"

namespace oomw {

// Which failures are worth a line in the log. A server that is away for a day is tried 2,000 times, and
// each try reads a little different ("after 3 ms").
//   - each kind of failure is said at once, and again after kAgain at the earliest: at most 6 lines an hour
//     and kind, whatever the server does;
//   - that it answers again is said once after a line was said.
class Complaints {
 public:
  static constexpr Nanoseconds kAgain = std::chrono::minutes(10);

  [[nodiscard]] bool on_error(ApiError error, MonotonicTime now) {  // true: say it
    std::optional<MonotonicTime>& said = said_[static_cast<std::size_t>(error)];
    if (said && now - *said < kAgain) return false;
    said = now;
    is_open_ = true;
    return true;
  }
  [[nodiscard]] bool on_well() { return std::exchange(is_open_, false); }  // true: say that it is over

 private:
  std::array<std::optional<MonotonicTime>, kApiErrors> said_;
  bool is_open_ = false;
};

}  // namespace oomw
