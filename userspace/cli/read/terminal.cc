// SPDX-License-Identifier: Apache-2.0
#include "cli/read/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

namespace oomw::cli {
namespace {

// "" = none.
std::string pager_for(const std::string& text) {
  if (::isatty(STDOUT_FILENO) == 0) return "";
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return "";
  if (std::ranges::count(text, '\n') < size.ws_row) return "";
  if (const char* named = std::getenv("PAGER")) return std::string(named) == "cat" ? "" : named;
  return "command -v less >/dev/null && exec less; exec cat";
}

}  // namespace

TerminalView stdout_view() {
  if (::isatty(STDOUT_FILENO) == 0) return {0, false};
  const auto is_set = [](const char* value) { return value != nullptr && *value != '\0'; };
  const char* term = std::getenv("TERM");
  winsize size{};
  const bool has_size = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return {std::clamp<std::size_t>(has_size ? size.ws_col : 80, TerminalView::kLeastColumns, TerminalView::kMostColumns),
          !is_set(std::getenv("NO_COLOR")) && is_set(term) && std::string_view(term) != "dumb"};
}

void print_paged(const std::string& text) {
  const std::string pager = pager_for(text);
  std::FILE* pipe = nullptr;
  if (!pager.empty()) {
    ::setenv("LESS", "FRX", /*overwrite=*/0);
    std::signal(SIGPIPE, SIG_IGN);  // a pager that is quit early
    std::fflush(stdout);
    pipe = ::popen(pager.c_str(), "we");  // NOLINT(cert-env33-c): the user's own choice
  }
  if (pipe == nullptr) {
    fmt::print("{}", text);
    return;
  }
  (void)std::fwrite(text.data(), 1, text.size(), pipe);
  (void)::pclose(pipe);
}

}  // namespace oomw::cli
