// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/address_space.h"
#include "runtimes/memory_contents.h"
#include "runtimes/v8/constants.h"

namespace oomw::v8 {

// What fills a Node.js process: V8's heap and the memory of ArrayBuffers beside the parts of any program, objects by
// constructor with what only they hold. Names are identifiers; no values, no strings.
// kNotFound: no heap of V8; kLimit: more of it than is read.
[[nodiscard]] Result<MemoryContents> read_contents(const AddressSpace& space, const Constants& constants);

// How much memory that may be V8's one map has and the other has not: a collection that moves objects takes new pages
// and gives back old ones, and what it moved while it was read may have been missed.
[[nodiscard]] std::uint64_t changed_bytes(const MemoryMap& before, const MemoryMap& after);

}  // namespace oomw::v8
