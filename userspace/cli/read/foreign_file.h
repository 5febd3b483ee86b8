// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace oomw::cli {

// What a command may take for a file that may be anyone's: 100,000 stacks need a quarter of it.
inline constexpr std::uint64_t kMaxReadMemory = 512u << 20;
inline constexpr std::size_t kMaxProfileBytes = 64u << 20;

// A file of an incident, which may come from elsewhere, or one that was named: neither a link, nor a device or pipe,
// which may never end. kLimit: longer than max_bytes.
[[nodiscard]] Result<std::string> read_plain_file(const std::string& path, std::size_t max_bytes);

// Several lines for a terminal: nothing in them steers it. Control characters within a line are shown as in
// printable().
[[nodiscard]] std::string for_any_terminal(std::string_view text);

}  // namespace oomw::cli
