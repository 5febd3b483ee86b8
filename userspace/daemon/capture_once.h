// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "captures/capture.h"
#include "daemon/config.h"

namespace oomw {

// The processes to capture with `oomwitness capture`; exactly one is set.
struct CaptureSelector {
  std::optional<std::int32_t> pid;
  std::string container;  // 6 characters of an id or more, a name, a unit, a cgroup's path or its last component
  std::string pod;        // NAMESPACE/NAME
};

// The selected processes, the largest first, at most 8.
[[nodiscard]] Result<std::vector<CaptureTarget>> find_targets(const Config& config, const CaptureSelector& selector);

// One capture without a daemon: finds the processes and tries them in order of size, the largest first. An error only
// when nothing could be tried; else see outcome.finished.
[[nodiscard]] Result<CaptureOutcome> capture_once(const Config& config, const CaptureSelector& selector);

}  // namespace oomw
