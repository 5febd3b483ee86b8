// SPDX-License-Identifier: Apache-2.0
// Converts the daemon's configuration to the settings that programs and maps are loaded with.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <oomwitness/settings.h>

#include "kernel/kernel_source.h"

namespace oomw {

// Levels sorted, without duplicates, the highest OOMW_MAX_LEVELS of them; rearm_percent below the
// lowest level.
[[nodiscard]] oomw_settings make_settings(const KernelConfig& config);

// Number of chunks in the pool for walks at a kill; at least one.
[[nodiscard]] std::uint32_t walk_chunks(const KernelConfig& config);

// max_entries by map name.
[[nodiscard]] std::map<std::string, std::uint32_t> make_map_entries(const KernelConfig& config);

}  // namespace oomw
