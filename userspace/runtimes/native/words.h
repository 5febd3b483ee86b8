// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace oomw::native {

// A little-endian number at a place of foreign bytes; 0 where they end before it.
template <typename T = std::uint64_t>
[[nodiscard]] inline T number_at(std::span<const std::byte> bytes, std::size_t offset) {
  T value{};
  if (offset > bytes.size() || bytes.size() - offset < sizeof value) return value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace oomw::native
