// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/text.h"

namespace oomw {

// "about 41 MiB +- 3 MiB"; without an error it was counted: "41 MiB".
[[nodiscard]] inline std::string estimate_text(std::uint64_t bytes, const std::optional<std::uint64_t>& error_bytes) {
  return error_bytes ? "about " + human_bytes(bytes) + " +- " + human_bytes(*error_bytes) : human_bytes(bytes);
}

// "about 300"; without an error "300".
[[nodiscard]] inline std::string estimated_count_text(std::uint64_t count,
                                                      const std::optional<std::uint64_t>& error_bytes) {
  return (error_bytes ? "about " : "") + std::to_string(count);
}

}  // namespace oomw
