// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "kubernetes/api_error.h"

namespace oomw {

// Decides which failures are worth a line in the log. A server that is down for a day is tried 2,000 times, and
// each try has a slightly different message ("after 3 ms").
//   - each kind of failure is logged at once, and again after kAgain at the earliest: at most 6 lines an
//     hour and kind, whatever the server does;
//   - when the server answers again, one line reports that, if a failure was logged.
class Warnings {
 public:
  static constexpr Nanoseconds kAgain = std::chrono::minutes(10);

  [[nodiscard]] bool on_error(ApiError error, MonotonicTime now) {  // true: log it
    std::optional<MonotonicTime>& logged = logged_[static_cast<std::size_t>(error)];
    if (logged && now - *logged < kAgain) return false;
    logged = now;
    is_open_ = true;
    return true;
  }
  [[nodiscard]] bool on_success() { return std::exchange(is_open_, false); }  // true: log that it is over

 private:
  std::array<std::optional<MonotonicTime>, kApiErrors> logged_;
  bool is_open_ = false;
};

}  // namespace oomw
