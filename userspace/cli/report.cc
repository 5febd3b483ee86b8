// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "base/text.h"
#include "cli/commands.h"

namespace oomw::cli {

int report(const Error& error) {
  constexpr std::size_t kMaxChars = 4'096;
  std::fprintf(stderr, "oomwitness: %s\n", printable(error.message, kMaxChars).c_str());
  return kFailed;
}

}  // namespace oomw::cli
