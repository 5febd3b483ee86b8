// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/address_space.h"
#include "runtimes/memory_contents.h"
#include "runtimes/native/composition.h"

namespace oomw::native {

// What fills any process: the parts by its mappings, glibc's blocks in use, free and by size.
[[nodiscard]] Result<MemoryContents> read_contents(const AddressSpace& space);

// Its parts by its mappings alone.
[[nodiscard]] Result<MemoryContents> read_composition(const AddressSpace& space);

// What read_contents() gives, for a runtime that knows more: adds parts, malloc's totals and notes. owner, sink: may be
// null.
[[nodiscard]] Result<> add_native(const AddressSpace& space, Composition& parts, MemoryContents& contents,
                                  RangeOwner* owner, ChunkSink* sink);

}  // namespace oomw::native
