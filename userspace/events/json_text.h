// SPDX-License-Identifier: Apache-2.0
// JSON that leaves us, for files, standard output and other programs. For .cc files.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace oomw {

// ASCII only: all else is a \u escape, so that a name of C1 or bidi controls (U+009B, U+202E) steers no
// terminal that the text is shown on, and whoever parses it has the name as it was. What is no UTF-8
// becomes U+FFFD. indent < 0: one line. Never throws.
template <typename Json>
[[nodiscard]] std::string to_json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', true, Json::error_handler_t::replace);
}

}  // namespace oomw
