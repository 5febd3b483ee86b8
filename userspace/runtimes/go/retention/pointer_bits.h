// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "memory/cached_reader.h"
#include "runtimes/go/retention/spans.h"
#include "runtimes/go/retention/types.h"

namespace oomw::go::retention {

// Which words of the heap may be pointers, by the runtime's own bookkeeping (Go 1.22 on): a bitmap at the end of spans
// of small objects, the type of larger ones. Where it is not known, every word may be one. In a Collector this rejects
// 1 % of the words that look like pointers to a wanted object.
class PointerBits {
 public:
  // Where the bitmap begins changed in Go 1.26: chosen by which place marks the pointers that are there.
  [[nodiscard]] static PointerBits find(const SpanTable& spans, CachedReader& memory);

  // `block`: bytes of the heap that begin at `block_address` and hold the word at `address`, in the slot at `base`.
  [[nodiscard]] bool may_point(const SpanTable& spans, TypeTable& types, const Span& span, std::uint64_t base,
                               std::uint64_t address, std::span<const std::byte> block,
                               std::uint64_t block_address) const;

 private:
  std::uint64_t from_end_ = 0;  // of objects of 16 to 512 bytes; 0 = not known
};

}  // namespace oomw::go::retention
