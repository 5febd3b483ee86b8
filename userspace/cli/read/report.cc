// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>

#include "base/log.h"
#include "base/text.h"
#include "cli/read/read_commands.h"

namespace oomw::cli {

int report(const Error& error) {
  constexpr std::size_t kMaxChars = 4'096;
  std::fprintf(stderr, "%soomwitness: %s\n", log::journal_prefix(log::Level::kError, STDERR_FILENO).data(),
               printable(error.message, kMaxChars).c_str());
  return kFailed;
}

}  // namespace oomw::cli
