// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/config.h"
#include "kernel/kernel_source.h"

namespace oomw {

struct DoctorCheck {
  std::string name;
  bool ok = false;
  bool is_needed = false;  // without it the main job cannot be done
  std::string detail;
};

struct DoctorReport {
  std::string kernel_release;
  std::string cgroup_version;  // v1 | v2 | none
  std::vector<FeatureStatus> features;
  std::vector<DoctorCheck> checks;
  // The main job: see kills, take profiles, keep both on disk.
  bool can_do_main_job = false;
};

// Loads every program as the daemon would, inspects the result, and unloads. Needs root.
[[nodiscard]] DoctorReport examine(const Config& config);

}  // namespace oomw
