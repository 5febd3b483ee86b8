// SPDX-License-Identifier: Apache-2.0
// From the daemon's configuration to the settings that programs and maps are loaded with.
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

// Chunks of the pool that walks at the kill fill; at least one.
[[nodiscard]] std::uint32_t walk_chunks(const KernelConfig& config);

// max_entries by map name.
[[nodiscard]] std::map<std::string, std::uint32_t> make_map_entries(const KernelConfig& config);

}  // namespace oomw
