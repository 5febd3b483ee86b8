// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/cached_reader.h"

namespace oomw::go {

// Whether a 32-bit little-endian ELF file is a Go program, by the names of its sections: nothing else is read of such a
// file. Pointers, buckets and records have another layout there, so it is recognised but never read. Bounded like
// elf::File; an inconsistent file is not Go.
[[nodiscard]] bool is_narrow_go(CachedReader& reader);

}  // namespace oomw::go
