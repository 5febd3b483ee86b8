// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>

#include "base/log.h"
#include "base/text.h"
#include "cli/read/read_commands.h"
#include "verdict/shell_word.h"

namespace oomw::cli {

std::string place_options(const CommandLine& line) {
  const std::string config = line.config_path.empty() ? "" : " --config " + shell_word(line.config_path);
  return config + (line.data_dir ? " --data-dir " + shell_word(*line.data_dir) : "");
}

int report(const Error& error) {
  constexpr std::size_t kMaxChars = 4'096;
  const bool wants_root = error.code == ErrorCode::kPermission && ::geteuid() != 0;
  std::fprintf(stderr, "%soomwitness: %s%s\n", log::journal_prefix(log::Level::kError, STDERR_FILENO).data(),
               printable(error.message, kMaxChars).c_str(), wants_root ? "; run it as root (sudo)" : "");
  return kFailed;
}

}  // namespace oomw::cli
