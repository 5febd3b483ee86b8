// SPDX-License-Identifier: Apache-2.0
// What there is to load: one entry a feature, in order of loading.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernel/kernel_btf.h"
#include "kernel/objects.h"

namespace oomw {

struct HookSpec {
  std::string tracepoint;
  // Name of the program without the rung's suffix, for what this kernel's tracepoint takes.
  std::function<std::string(const HookSignature&)> program;
};

struct FeatureSpec {
  std::string feature;
  ObjectFile object;
  std::vector<HookSpec> hooks;  // all of them, or the feature is not served by this rung
  std::string lost_by_tracepoint;
  std::string lost_by_files;
};

// oom_kill comes first: from its attach on no kill is missed.
[[nodiscard]] std::vector<FeatureSpec> feature_catalog();

}  // namespace oomw
