// SPDX-License-Identifier: Apache-2.0
// JSON output for files, standard output and other programs. For .cc files.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace oomw {

// ASCII only: everything else is a \u escape, so that C1 or bidi controls in a name (U+009B, U+202E) cannot steer a
// terminal, and a parser still gets the original name. Invalid UTF-8 becomes U+FFFD. indent < 0: one line. Never
// throws.
template <typename Json>
[[nodiscard]] std::string to_json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', true, Json::error_handler_t::replace);
}

}  // namespace oomw
