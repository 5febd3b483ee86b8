// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "events/event.h"

namespace oomw {

// What the kernel counted in a Python process at its kill: an event whose trigger is the kill.
//   - records: of the walk's chunk, see <oomwitness/pools.h>; hostile, as the process was.
//   - A type has the name that it had at the kill, if that is an identifier; where its page was gone the one that
//     `known` has for its address, else "unknown".
// Failed, with the walk's reason, if no pool was read. walk.pools is there.
[[nodiscard]] HeapAnalysed pools_at_kill(const HeapWalked& walk, std::span<const std::byte> records,
                                         const PoolTable& known);

// The same where there is no walk.
[[nodiscard]] HeapAnalysed pools_not_counted(ProcessKey process, CgroupId cgroup, MonotonicTime at,
                                             CaptureReason reason, const std::string& why);

}  // namespace oomw
