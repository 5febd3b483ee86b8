// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace oomw {

inline constexpr const char* kBlocksOfSize = "blocks of ";  // "blocks of 528 B": a filler that has no other name

// How much the name of what fills a program tells: the size of its blocks (0), what it is (1), what holds it (2). The
// same bytes may be listed by all three. frames: what it is, and the name that holds it.
[[nodiscard]] inline int told_by_name(const std::vector<std::string>& frames) {
  if (frames.size() > 1) return 2;
  return frames.empty() || frames.front().starts_with(kBlocksOfSize) ? 0 : 1;
}

}  // namespace oomw
