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
  std::string program;  // without the rung's suffix; picked for what the tracepoint takes here
};

struct FeatureSpec {
  std::string feature;
  ObjectFile object;
  std::vector<HookSpec> hooks;  // all of them, or the feature is not served by this rung
  std::string lost_by_tracepoint;
  std::string lost_by_files;
  bool has_files = true;             // false: below the programs nothing serves it
  std::string needed_function = "";  // a helper of the kernel that all its programs call; "" = none
};

// What a tracepoint of the running kernel takes; nullopt: there is none, or nothing is known.
using SignatureOf = std::function<std::optional<HookSignature>(const std::string& tracepoint)>;

// oom_kill comes first: from its attach on no kill is missed.
[[nodiscard]] std::vector<FeatureSpec> feature_catalog(const SignatureOf& signature_of);

}  // namespace oomw
