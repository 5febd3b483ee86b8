// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace oomw {

// Figures by their names in Go's runtime.MemStats, in bytes: HeapAlloc, HeapInuse, HeapIdle, HeapReleased, StackInuse,
// MSpanSys, MCacheSys, BuckHashSys, GCSys, OtherSys, NextGC.
using MemStats = std::map<std::string, std::uint64_t>;

// Reads the comments at the end of a heap profile in text (debug=1). The writer is hostile: numbers are plain decimals
// below 2^53, each name counts once, and contradictory figures (more alive than in use, more released than idle) are
// discarded. Empty: not all of them are there. Pure, fuzzed.
[[nodiscard]] MemStats memstats_of(std::string_view text);

}  // namespace oomw
