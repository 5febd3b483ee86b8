// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/address_space.h"
#include "runtimes/memory_contents.h"
#include "runtimes/sample.h"

namespace oomw::cpython {

// What fills a Python process: parts, types by count and bytes, and the big containers with the names that hold them.
// now: the same process, also what it has taken since the picture of its memory was made.
// kNotFound: no Python (3.9 to 3.14, the usual build) was found in it.
//
// rate: of its pools. Of a sample, types in pools are estimates with their errors, as far as these are smaller than
// they are; blocks of malloc (all above 512 bytes) and holders are not read. It takes the rate's part of the time, and
// 0.05 ms of CPU a MiB.
[[nodiscard]] Result<MemoryContents> read_contents(const AddressSpace& space, const ByteSource& now,
                                                   SampleRate rate = {});

}  // namespace oomw::cpython
