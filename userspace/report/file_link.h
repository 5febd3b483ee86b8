// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <fmt/format.h>

#include "base/text.h"

namespace oomw {

// A Markdown link to a file beside report.md: "[trend.json](trend.json)".
inline std::string file_link(const std::string& name) {
  const std::string file = to_file_component(name);
  return fmt::format("[{}]({})", to_markdown(file), file);
}

}  // namespace oomw
