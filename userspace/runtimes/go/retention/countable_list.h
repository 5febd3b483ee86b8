// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "events/goroutines_at_kill.h"
#include "runtimes/go/retention/goroutines.h"
#include "runtimes/go/retention/image.h"

namespace oomw::go::retention {

// What the kernel needs to count this process's goroutines by state and by what they wait for.
//
// - The reasons' names are an array of strings that the runtime's own code for tracebacks refers to: "" first, then at
//   least 16 short printable texts.
// - The offset of a goroutine's reason is the one at which goroutines that stand in known functions of the runtime
//   ("runtime.bgsweep": "GC sweep wait") have the reason that fits, two different ones at least, and all that wait have
//   one. It is refused where two offsets would do.
// Errors: kUnsupported (not proved), and those of reading.
[[nodiscard]] Result<GoroutineList> find_countable_list(Image& image, Goroutines& goroutines, CachedReader& memory);

}  // namespace oomw::go::retention
