// SPDX-License-Identifier: Apache-2.0
#include "cli/read/progress.h"

#include <unistd.h>

#include <cstdio>

#include <fmt/format.h>

namespace oomw::cli {

std::string progress_text(std::size_t done, std::size_t all, double seconds_left) {
  std::string left = "done";
  if (done < all) {
    left = seconds_left < 120 ? fmt::format("about {:.0f} s left", seconds_left)
                              : fmt::format("about {:.0f} min left", seconds_left / 60);
  }
  return fmt::format("{}/{}, {}", done, all, left);
}

Progress::Progress() : is_terminal_(::isatty(STDERR_FILENO) != 0) {}

void Progress::show(const std::string& text) {
  if (!is_terminal_) return;
  std::fprintf(stderr, "\r%s\x1b[K", text.c_str());
  is_shown_ = true;
}

void Progress::clear() {
  if (is_shown_) std::fputs("\r\x1b[K", stderr);
  is_shown_ = false;
}

}  // namespace oomw::cli
