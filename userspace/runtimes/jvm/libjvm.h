// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "memory/byte_source.h"
#include "memory/memory_map.h"

namespace oomw::jvm {

// HotSpot's description of itself: the variables gHotSpotVM*, which libjvm.so exports for debuggers, in every build and
// also stripped.
using VmSymbols = std::map<std::string, std::uint64_t, std::less<>>;

// The mapping of libjvm.so that begins at the file's start; null: not a HotSpot process.
[[nodiscard]] const Mapping* find_libjvm(const MemoryMap& map);

// Where they lie in the process. library: the bytes of libjvm.so, mapped there. kUnsupported: it has no such variables.
[[nodiscard]] Result<VmSymbols> read_vm_symbols(const ByteSource& library, const Mapping& mapping);

}  // namespace oomw::jvm
