// SPDX-License-Identifier: Apache-2.0
// A reading on its way from the reader to the daemon: its numbers, in a file of memory.
#pragma once

#include "base/result.h"
#include "runtimes/heap_reading.h"

namespace oomw::go {

// Appends all but `summary` and `facts`.
[[nodiscard]] Result<> write_reading(int fd, const HeapReading& reading);

// What the reader wrote: kInvalid if it is no reading, or one that is larger than any.
[[nodiscard]] Result<HeapReading> read_reading(int fd);

}  // namespace oomw::go
