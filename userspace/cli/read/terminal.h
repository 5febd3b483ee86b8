// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "report/markdown_view.h"

namespace oomw::cli {

// The view of stdout; 0 columns if it is not a terminal. Applies NO_COLOR and TERM=dumb.
[[nodiscard]] TerminalView stdout_view();

// Writes text to stdout; through $PAGER (else less, where there is one) if stdout is a terminal with fewer lines than
// the text has. PAGER=cat or an empty one turns that off. less shows colours and ends at a page's end (LESS=FRX).
void print_paged(const std::string& text);

}  // namespace oomw::cli
