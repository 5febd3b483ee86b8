// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "kernel/catalog.h"
#include "kernel/kernel_btf.h"
#include "kernel/kernel_source.h"
#include "kernel/program_loader.h"

namespace oomw {

struct LadderResult {
  FeatureStatus status;
  std::vector<LoadedProgram> programs;  // empty below the tracepoint rungs
};

// Tries the rungs of one feature from best_allowed down until a single rung serves all its hooks. Programs of a rung
// that failed half way are unloaded again.
[[nodiscard]] LadderResult descend(const FeatureSpec& spec, Rung best_allowed, const KernelBtf& kernel,
                                   ProgramLoader& loader);

// The result when no program can be tried at all.
[[nodiscard]] FeatureStatus fall_to_files(const FeatureSpec& spec, Rung best_allowed, const std::string& reason);

}  // namespace oomw
