// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/heap_snapshot.h"

#include <array>

namespace oomw::go {

std::string_view to_string(RecordLayout layout) {
  static constexpr std::array<std::string_view, 4> kNames = {"no_data", "objects_and_bytes", "objects", "unknown"};
  return kNames[static_cast<std::size_t>(layout)];
}

Counts operator+(const Counts& a, const Counts& b) {
  return {a.allocs + b.allocs, a.frees + b.frees, a.alloc_bytes + b.alloc_bytes, a.free_bytes + b.free_bytes};
}

namespace {

std::int64_t difference(std::uint64_t more, std::uint64_t less) {
  const auto value = static_cast<std::int64_t>(more - less);
  return value > 0 ? value : 0;
}

}  // namespace

HeapAmount in_use(const Counts& counts) {
  return {difference(counts.allocs, counts.frees), difference(counts.alloc_bytes, counts.free_bytes)};
}

HeapAmount allocated(const Counts& counts) { return {difference(counts.allocs, 0), difference(counts.alloc_bytes, 0)}; }

}  // namespace oomw::go
