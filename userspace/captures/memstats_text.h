// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace oomw {

// By the names of Go's runtime.MemStats, in bytes: HeapAlloc, HeapInuse, HeapIdle, HeapReleased,
// StackInuse, MSpanSys, MCacheSys, BuckHashSys, GCSys, OtherSys, NextGC.
using MemStats = std::map<std::string, std::uint64_t>;

// What the comments at the end of a heap profile in text (debug=1) say. The writer is hostile: numbers
// are plain decimals below 2^53, each name counts once, and figures that contradict each other (more
// alive than in use, more released than idle) are no figures. Empty: not all of them are there. Pure, fuzzed.
[[nodiscard]] MemStats memstats_of(std::string_view text);

}  // namespace oomw
