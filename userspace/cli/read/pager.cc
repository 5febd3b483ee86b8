// SPDX-License-Identifier: Apache-2.0
#include "cli/read/pager.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

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
