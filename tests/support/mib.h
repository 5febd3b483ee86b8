// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace oomw::test {

inline constexpr std::uint64_t kMiB = 1u << 20;

}  // namespace oomw::test
