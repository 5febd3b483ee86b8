// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/rate_limit.h"

namespace oomw {

struct RepeatConfig {
  int per_minute = 6;  // incidents of one container; 0 = every kill has one
  int burst = 20;      // in a row before that; at least 1
};

// Which kills of a container that is killed again and again have an incident of their own. The others are counted in
// the newest one. Pure; the core thread. At most kMax containers at a time: with more, kills of further ones are not
// limited.
class RepeatLimit {
 public:
  static constexpr std::size_t kMax = 4'096;

  explicit RepeatLimit(RepeatConfig config) : config_(config) {}

  // Whether the kill may have its own incident. container: stays the same when the container restarts; "" = not known,
  // and not limited.
  [[nodiscard]] bool take(const std::string& container, MonotonicTime now);
  // The incident opened last, by number; nullopt: none is known.
  [[nodiscard]] std::optional<std::uint64_t> newest(const std::string& container) const;
  void set_newest(const std::string& container, std::uint64_t incident);

 private:
  struct Container {
    RateLimit limit;
    MonotonicTime last;  // its last kill
    std::optional<std::uint64_t> newest;
  };
  void forget_idle(MonotonicTime now);

  RepeatConfig config_;
  std::map<std::string, Container> containers_;
};

}  // namespace oomw
