// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace oomw {

// A Kubernetes quantity of memory in bytes: "512Mi", "1.5G", "129e6", "128974848000m". Fractions of a
// byte are cut. nullopt: malformed, negative, or beyond 2^63.
[[nodiscard]] std::optional<std::uint64_t> parse_quantity(std::string_view text);

}  // namespace oomw
