// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "events/pools_at_kill.h"
#include "runtimes/cpython/pools.h"
#include "runtimes/cpython/type_table.h"

namespace oomw::cpython {

// What the kernel needs to find this process's pools at its kill, those made until then among them: where the
// interpreter's pointer to its table of arenas lies. `types`: the names of types that are no part of the heap.
//
// - Each pool says which entry of the table its arena has. So a pointer in the interpreter's data is the one if that
//   entry holds the arena for nine of ten pools of a sample, and for 16 at least.
// - Another variable may point to the same entry (3.9 to 3.14 have several such). Of two places the one with the
//   table's length beside it is taken (3.12 on), else none.
// Errors: kUnsupported (not proved, and why).
[[nodiscard]] Result<PoolTable> find_arena_table(const AddressSpace& space, const TypeTable& types,
                                                 const PoolRegions& regions);

}  // namespace oomw::cpython
