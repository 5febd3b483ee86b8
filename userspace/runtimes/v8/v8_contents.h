// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "memory/address_space.h"
#include "runtimes/memory_contents.h"
#include "runtimes/sample.h"
#include "runtimes/v8/constants.h"

namespace oomw::v8 {

inline constexpr std::uint64_t kMaxHeapBytes = 1u << 30;  // read whole; 0.7 s of CPU time

// What fills a Node.js process: V8's heap and the memory of ArrayBuffers beside the parts of any program, objects by
// constructor with what only they hold. Names are identifiers; no values, no strings.
// Of a sample, and of more memory than max_heap_bytes, only some of V8's pages are read: types are estimates then, and
// holders and blocks of malloc are not known.
// kNotFound: no heap of V8; kLimit, kUnavailable: it cannot be read in part.
[[nodiscard]] Result<MemoryContents> read_contents(const AddressSpace& space, const Constants& constants,
                                                   SampleRate rate = {}, std::uint64_t max_heap_bytes = kMaxHeapBytes);

// How much memory that may be V8's one map has and the other has not: a collection that moves objects takes new pages
// and gives back old ones, and what it moved while it was read may have been missed.
[[nodiscard]] std::uint64_t changed_bytes(const MemoryMap& before, const MemoryMap& after);

}  // namespace oomw::v8
