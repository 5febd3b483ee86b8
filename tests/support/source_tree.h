// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace oomw::test {

inline constexpr std::size_t kMaxSourceBytes = 1u << 20;  // of one file

// Absolute paths of this source tree and of its fixtures. One object knows them, so that every other one
// comes out the same in any clone and can be taken from the compiler cache.
[[nodiscard]] std::string source_tree();
[[nodiscard]] std::string fixtures();

}  // namespace oomw::test
