// SPDX-License-Identifier: Apache-2.0
// What fills a process's memory, for any runtime. Plain data, bounded, printable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "events/pools_at_kill.h"

namespace oomw {

// A part of the private anonymous memory that is present.
struct ContentPart {
  std::string name;     // "malloc: in use"
  std::string runtime;  // "native", "cpython"
  std::uint64_t bytes = 0;
  std::string source;  // the proof that it is this
};

// What kind of thing a filler is.
enum class ContentKind { kType, kHolder, kSize };

// One type, holder or size of blocks; the largest come first in their kind.
struct ContentFiller {
  ContentKind kind = ContentKind::kType;
  std::string name;     // "dict"; of a holder "list of dict"; of a size "288 B blocks"
  std::string held_as;  // of a holder: "`REQUEST_LOG` in module `app`"; "" if no name was found
  std::uint64_t bytes = 0, count = 0;
  std::optional<std::uint64_t> error_bytes{};  // of an estimate, as in HeapFiller
};

// The C library's allocator. Resident bytes are those that are in memory; malloc_trim gives pages back and leaves the
// free blocks.
struct MallocTotals {
  std::uint64_t arenas = 0;
  std::uint64_t in_use_bytes = 0, free_bytes = 0, free_resident_bytes = 0, top_bytes = 0, top_resident_bytes = 0;
  std::uint64_t mapped_bytes = 0, mapped_blocks = 0;  // blocks with a mapping of their own
};

struct MemoryContents {
  static constexpr std::size_t kMaxParts = 16, kMaxFillersOfKind = 10, kMaxNotes = 8;

  std::string runtime;  // "cpython 3.11" cannot be known from outside without guessing: "cpython", "native"
  std::uint64_t anonymous_bytes = 0;
  double named_ratio = 0;               // the share of it in parts that are known
  std::optional<double> sampled_ratio;  // of its objects' memory: what was read; nullopt: not a sample of it
  std::vector<ContentPart> parts;
  std::vector<ContentFiller> fillers;
  std::optional<MallocTotals> malloc;   // none: not glibc, or its sums did not close
  std::optional<PoolTable> pool_table;  // of a Python process, where it was proved
  std::vector<std::string> notes;       // what is not known, and why
  std::uint64_t bytes_read = 0;
};

}  // namespace oomw
