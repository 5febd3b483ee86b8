// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace oomw {

struct TerminalView {
  static constexpr std::size_t kLeastColumns = 40, kMostColumns = 200;
  static constexpr std::size_t kNoTerminal = 100;  // columns of a text for a pipe or a file
  std::size_t columns = kNoTerminal;
  bool has_color = false;  // bold and faint text by escape sequences; false: no escape sequences at all
};

// Formats a Markdown report for a terminal. Tables are aligned, with cells broken into lines if the table would be
// wider than `columns`; running text and lists are wrapped; headings stand apart; escapes and marks are removed.
// Indented blocks stay as they are, because a command that is cut cannot be pasted. No control characters but line
// ends get through. Pure.
[[nodiscard]] std::string for_terminal(std::string_view markdown, const TerminalView& view);

}  // namespace oomw
