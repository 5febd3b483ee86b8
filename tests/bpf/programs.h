// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "kernel/kernel_source.h"

namespace oomw::test {

// Every time a test sets grows by it: an emulated CPU is ten times slower, and away when others want the host's.
inline double time_factor() {
  const char* text = std::getenv("OOMW_TIME_FACTOR");
  return text == nullptr ? 1.0 : std::max(1.0, std::atof(text));
}

// How often a test does again what has to come out the same each time: a fifth where each takes ten times as long.
inline int repetitions(int count) { return time_factor() > 1 ? std::max(count / 5, 1) : count; }

// No programs but those of `features`: one that is not used still costs an emulated CPU 0.3 s to
// load, and its events come into the ring.
inline KernelConfig config_of_only(std::initializer_list<std::string_view> features) {
  KernelConfig config;
  for (const char* feature :
       {"oom_kill", "watermark", "reclaim", "process_lifecycle", "cgroup_lifecycle", "heap_at_kill"}) {
    if (std::find(features.begin(), features.end(), feature) == features.end()) config.forced[feature] = Rung::kNone;
  }
  config.walk_max_time = Nanoseconds(static_cast<std::int64_t>(time_factor() * config.walk_max_time.count()));
  return config;
}

}  // namespace oomw::test
