// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace oomw::cli {

struct TerminalView {
  std::size_t columns = 80;
  bool has_color = false;  // bold and faint text by escape sequences; none of any kind otherwise
};

// A report in Markdown as a person reads it in a terminal: tables aligned, their cells broken into lines
// where the table would be wider than `columns`; running text and lists wrapped; headings set off; escapes
// and marks taken off. Indented blocks stay as they are, because a command that is cut cannot be pasted. Other control
// characters than line ends do not get through. Pure.
[[nodiscard]] std::string for_terminal(std::string_view markdown, const TerminalView& view);

// Of stdout; 0 columns when it is no terminal, where a report stays Markdown. NO_COLOR and TERM=dumb are heeded.
[[nodiscard]] TerminalView stdout_view();

}  // namespace oomw::cli
