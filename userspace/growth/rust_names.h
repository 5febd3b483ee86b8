// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace oomw::growth {

[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "<cache::Store<u64>>::grow" of Rust's newer mangling, "_RNvMCs1_5cacheINtB2_5StoreyE4grow": without the hashes of
// crates, written as binutils' c++filt does. nullopt: no such name, or one with constants that are text or structures.
// Pure. Bounded in time, depth and length whatever the name is: references in it can double what is written.
[[nodiscard]] std::optional<std::string> rust_name(std::string_view symbol);

}  // namespace oomw::growth
