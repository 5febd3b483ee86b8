// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "kernel/kernel_source.h"

namespace oomw::test {

// No programs but those of `features`: one that is not looked at still costs an emulated CPU 0.3 s to
// load, and its events come into the ring.
inline KernelConfig config_of_only(std::initializer_list<std::string_view> features) {
  KernelConfig config;
  for (const char* feature :
       {"oom_kill", "watermark", "reclaim", "process_lifecycle", "cgroup_lifecycle", "heap_at_kill"}) {
    if (std::find(features.begin(), features.end(), feature) == features.end()) config.forced[feature] = Rung::kNone;
  }
  return config;
}

}  // namespace oomw::test
