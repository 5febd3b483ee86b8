// SPDX-License-Identifier: Apache-2.0
// Any text as a report on a terminal: it is shown in full width or narrow, and controls nothing.

#include "base/result.h"
#include "fuzz/text_target.h"
#include "report/markdown_view.h"

namespace {

// C0 but line ends, DEL, and C1 as UTF-8 has it.
bool controls_terminal(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 && byte != '\n') || byte == 0x7f) return true;
    const bool is_c1 = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (is_c1) return true;
  }
  return false;
}

}  // namespace

void fuzz_text(std::string_view text) {
  for (const std::size_t columns : {1, 20, 80, 1000}) {
    OOMW_CHECK(!controls_terminal(oomw::for_terminal(text, {.columns = columns, .has_color = false})));
    (void)oomw::for_terminal(text, {.columns = columns, .has_color = true});
  }
}
