// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "memory/address_space.h"
#include "runtimes/memory_contents.h"
#include "runtimes/sample.h"
#include "runtimes/v8/census.h"
#include "runtimes/v8/constants.h"

namespace oomw::v8 {

inline constexpr const char* kArrayBuffer = "ArrayBuffer";

// What read_contents() gives of a sample: types are estimates by one of so many of V8's pages, which are known by their
// heads. Large objects, which have pages of their own, are all counted. blocks: as candidate_blocks() has them.
[[nodiscard]] Result<MemoryContents> read_sample(const AddressSpace& space, const Constants& constants,
                                                 std::span<const PageRange> blocks, SampleRate rate);

// Why objects are not known, or not all.
void note_doubts(const Shapes& shapes, const Census& census, MemoryContents& contents);

// Adds the largest of a kind.
void keep_largest(std::vector<ContentFiller>& found, MemoryContents& contents);

}  // namespace oomw::v8
