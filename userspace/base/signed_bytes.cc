// SPDX-License-Identifier: Apache-2.0
#include "base/signed_bytes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/text.h"

namespace oomw {

std::string human_signed_bytes(double bytes) {
  if (std::isnan(bytes)) return "unknown";
  if (std::isinf(bytes)) return bytes < 0 ? "-inf" : "inf";
  constexpr double kMost = 1e18;  // fits 64 bits
  const auto size = static_cast<std::uint64_t>(std::min(std::fabs(bytes), kMost));
  return (bytes < 0 && size > 0 ? "-" : "") + human_bytes(size);
}

}  // namespace oomw
