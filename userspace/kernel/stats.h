// SPDX-License-Identifier: Apache-2.0
// The kernel's own counts of our programs and maps.
#pragma once

#include "events/lost_stage.h"
#include "kernel/kernel_source.h"
#include "kernel/program_loader.h"

namespace oomw {

[[nodiscard]] ProgramStats read_program_stats(const LoadedProgram& program);

// The per-CPU `lost` array summed, by stage name; every stage is present, also at 0. Empty if lost_map_fd is -1.
[[nodiscard]] LostCounts read_lost(int lost_map_fd, int possible_cpus);

}  // namespace oomw
