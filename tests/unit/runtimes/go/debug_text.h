// SPDX-License-Identifier: Apache-2.0
// A snapshot as the text of /debug/pprof/heap?debug=1, to compare with the program's own.
#pragma once

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "runtimes/go/heap_snapshot.h"

namespace oomw::go::test {

inline std::string counts_text(const Counts& counts) {
  char text[160];
  std::snprintf(text, sizeof(text), "%" PRId64 ": %" PRId64 " [%" PRIu64 ": %" PRIu64 "] @", in_use(counts).objects,
                in_use(counts).bytes, counts.allocs, counts.alloc_bytes);
  return text;
}

// Header and record lines, sorted: the runtime's order among equals is not defined. Records
// without any count are left out on both sides (a profile being written adds some).
inline std::vector<std::string> debug_lines(const HeapSnapshot& snapshot) {
  std::vector<std::string> lines;
  Counts total;
  for (const Bucket& bucket : snapshot.buckets) {
    total = total + bucket.active;
    if (bucket.active.is_zero()) continue;
    std::string line = counts_text(bucket.active);
    for (const std::uint64_t pc : snapshot.pcs_of(bucket)) {
      char text[32];
      std::snprintf(text, sizeof(text), " %#" PRIx64, pc);
      line += text;
    }
    lines.push_back(std::move(line));
  }
  lines.push_back("heap profile: " + counts_text(total) + " heap/" + std::to_string(2 * snapshot.rate));
  std::sort(lines.begin(), lines.end());
  return lines;
}

inline std::vector<std::string> debug_lines(const std::string& profile) {
  std::vector<std::string> lines;
  std::istringstream in(profile);
  for (std::string line; std::getline(in, line);) {
    const bool is_header = line.rfind("heap profile: ", 0) == 0;
    const bool is_record = !line.empty() && line[0] >= '0' && line[0] <= '9' && line.rfind("0: 0 [0: 0]", 0) != 0;
    if (is_header || is_record) lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

// What two sorted lists do not share: 20,000 lines of stacks are no readable failure.
inline std::vector<std::string> only_in_one(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::string> difference;
  std::set_symmetric_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(difference));
  if (difference.size() > 10) difference.resize(10);
  return difference;
}

}  // namespace oomw::go::test
