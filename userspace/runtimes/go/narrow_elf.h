// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/cached_reader.h"

namespace oomw::go {

// Whether a 32-bit little-endian ELF file is a Go program, by the names of its sections: all that is
// asked of such a file. Their pointers, buckets and records have another layout, so they are named
// and never read. Bounded like ElfFile; a file that lies about itself is not Go.
[[nodiscard]] bool is_narrow_go(CachedReader& reader);

}  // namespace oomw::go
