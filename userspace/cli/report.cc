// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "cli/commands.h"

namespace oomw::cli {

int report(const Error& error) {
  std::fprintf(stderr, "oomwitness: %s\n", error.message.c_str());
  return kFailed;
}

}  // namespace oomw::cli
