// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace oomw {

inline constexpr const char* kBlocksOfSize = "blocks of ";  // "blocks of 528 B": a filler that has no other name

// How much the name of what fills a program tells: the size of its blocks (0), what it is (1), what holds it (2). The
// same bytes may be listed by all three. frames: what it is, and the name that holds it.
[[nodiscard]] inline int told_by_name(const std::vector<std::string>& frames) {
  if (frames.size() > 1) return 2;
  return frames.empty() || frames.front().starts_with(kBlocksOfSize) ? 0 : 1;
}

// Whether a Java class is of the JDK's packages, as the JVM writes it ("java/util/List") or as a reader does.
[[nodiscard]] inline bool is_of_jdk(std::string_view name) {
  constexpr std::array<std::string_view, 4> kRoots = {"java", "javax", "jdk", "sun"};
  if (name.starts_with("com.") || name.starts_with("com/")) {
    name.remove_prefix(4);
    return name.starts_with("sun.") || name.starts_with("sun/");
  }
  const std::size_t end = name.find_first_of("./");
  return end != std::string_view::npos && std::ranges::find(kRoots, name.substr(0, end)) != kRoots.end();
}

}  // namespace oomw
