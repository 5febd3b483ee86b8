// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "memory/byte_source.h"

namespace oomw::growth {

// The file /tmp/perf-PID.map that runtimes write on demand (node --perf-basic-prof, java -XX:+DumpPerfMapAtExit, jcmd
// Compiler.perfmap, python -X perf): "ADDRESS SIZE NAME" in lines, hexadecimal; later ones replace earlier ones.
// Hostile like all that a container writes. One pass over at most kMaxBytes, which keeps only what was asked for.
inline constexpr std::size_t kMaxPerfMapBytes = 16u << 20, kMaxPerfMapLine = 4096;

// Names of instructions; those that have none are missing.
[[nodiscard]] std::map<std::uint64_t, std::string> names_in_perf_map(const ByteSource& file,
                                                                     std::vector<std::uint64_t> instructions);

}  // namespace oomw::growth
