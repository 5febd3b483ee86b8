// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace oomw::jvm {

// HotSpot's compressed numbers: six bits more with each byte from 192 on, or, where no byte is zero, from 191 on
// (unsigned5.hpp). Borrows the bytes.
class CompressedNumbers {
 public:
  CompressedNumbers(std::span<const std::uint8_t> bytes, bool has_zeros)
      : bytes_(bytes), excluded_(has_zeros ? 0 : 1) {}

  // kInvalid: the bytes end before the number.
  [[nodiscard]] Result<std::uint32_t> next() {
    constexpr std::uint32_t kHigh = 64, kMostBytes = 5, kBits = 6;
    const std::uint32_t low = 256 - excluded_ - kHigh;
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < kMostBytes; ++i) {
      if (at_ >= bytes_.size() || bytes_[at_] < excluded_) break;
      const std::uint32_t part = bytes_[at_++] - excluded_;
      sum += part << (kBits * i);
      if (part < low || i + 1 == kMostBytes) return sum;
    }
    return fail(ErrorCode::kInvalid, "a number that is cut");
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::uint32_t excluded_;
  std::size_t at_ = 0;
};

}  // namespace oomw::jvm
