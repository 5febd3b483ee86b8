// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/fresh_memory.h"
#include "runtimes/jvm/heap_spaces.h"
#include "runtimes/jvm/jvm.h"
#include "runtimes/sample.h"

namespace oomw::jvm {

struct ClassShare {
  std::string name;  // "byte[]", printable
  std::uint64_t bytes = 0, count = 0;
  std::optional<std::uint64_t> error_bytes{};  // bytes and count are then estimates of the whole heap
};

// What fills a Java heap: objects by class, also those that are dead and not collected yet.
struct ClassHistogram {
  std::vector<ClassShare> classes;   // the largest first, at most kMaxShown
  std::uint64_t walked_bytes = 0;    // of the heap, in spaces that were walked
  std::uint64_t used_bytes = 0;      // in all spaces
  std::uint64_t unparsed_bytes = 0;  // of the walked ones
  std::uint64_t objects = 0;
  [[nodiscard]] bool is_sample() const { return walked_bytes < used_bytes; }

  static constexpr std::size_t kMaxShown = 12;
};

struct HistogramLimits {
  std::uint64_t max_heap_bytes = 1u << 30;  // 0.3 to 0.4 ms of CPU time for each MiB
  SampleRate rate{};                        // of the heap's spaces
  // A sample of fewer spaces says little. G1 has 100 of 1 MiB in a small heap, the others have three or four.
  static constexpr std::size_t kFewestSpaces = 32;
};

// Walks the heap's spaces object by object; gaps have to be read after them, or the buffer that a thread has just taken
// looks like rubbish. Of a heap that is larger than allowed, and where the rate says so, a sample of the spaces is
// walked, and classes are estimates with their errors; large objects with spaces of their own are counted all the same.
// kUnavailable: the heap has too few spaces for that rate. The process runs on, so some of it is torn: if 2 % or more
// could not be parsed, there is no answer (kInvalid).
[[nodiscard]] Result<ClassHistogram> read_class_histogram(const Jvm& jvm, const FreshMemory& memory,
                                                          const std::vector<HeapSpace>& spaces,
                                                          const std::vector<AddressSpan>& gaps,
                                                          const HistogramLimits& limits = {});

}  // namespace oomw::jvm
