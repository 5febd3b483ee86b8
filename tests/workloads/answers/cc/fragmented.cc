// SPDX-License-Identifier: Apache-2.0
// Nothing leaks: small blocks for 10 s, then all but every 12th are freed; the allocator keeps their pages, and the
// large blocks of the second phase do not fit in between.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "pace.h"

namespace {

constexpr long kSmall = 1000, kSmallCount = 84000, kLarge = 48 << 10;
std::vector<void*> index_blocks, column_blocks;

__attribute__((noinline)) void* fill(long bytes) { return std::memset(std::malloc(bytes), 1, bytes); }

__attribute__((noinline)) void build_index(double begin) {
  for (long made = 0; made < kSmallCount;) {
    for (const long due = wait_due(begin, 8400, made); made < due && made < kSmallCount; ++made)
      index_blocks.push_back(fill(kSmall));
  }
}

__attribute__((noinline)) void drop_index() {
  for (std::size_t i = 0; i < index_blocks.size(); ++i) {
    if (i % 12 != 0) std::free(index_blocks[i]);
  }
}

__attribute__((noinline)) void load_columns() {
  const double begin = seconds_now();
  for (long made = 0;;) {
    for (const long due = wait_due(begin, 60, made); made < due; ++made) column_blocks.push_back(fill(kLarge));
  }
}

}  // namespace

int main() {
  build_index(seconds_now());
  drop_index();
  load_columns();
}
