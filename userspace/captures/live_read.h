// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "base/clock.h"
#include "captures/go_evidence.h"
#include "runtimes/go/go_processes.h"

namespace oomw {

// One look at the heap of a living process, without a profile made of it.
struct LiveRead {
  GoProcessPtr process;  // null: not Go, or gone
  MonotonicTime taken;
  std::optional<go::HeapSnapshot> snapshot;
  std::optional<GoFailure> failure;  // set if there is no snapshot
};

// Reasons: not_go | gone | permission | 32_bit | linked_out | not_found | timeout | unreadable | empty |
// rate_zero | rejected | layout_unknown. If the registry's view is out of date the process is looked
// at once more; a proved record layout goes to the registry. Any worker; stops at the deadline.
[[nodiscard]] LiveRead read_live(GoProcesses& processes, ProcessKey process, const Clock& clock,
                                 MonotonicTime deadline);

// Gets to see every heap that was read whatever for, before a profile is made of it: on the thread
// that read it, which waits meanwhile.
using SnapshotWatcher =
    std::function<void(const GoProcess& process, const go::HeapSnapshot& snapshot, MonotonicTime taken)>;

}  // namespace oomw
