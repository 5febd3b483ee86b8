// SPDX-License-Identifier: Apache-2.0
// JSON from text and to text, compiled once: the library's parser and serializer were a tenth of all code. For .cc
// files.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace oomw {

// Discarded (is_discarded()) where the text is no JSON. Never throws.
[[nodiscard]] nlohmann::json parse_json(std::string_view text);
[[nodiscard]] bool is_json(std::string_view text);
[[nodiscard]] nlohmann::ordered_json parse_ordered_json(std::string_view text);  // members as the text has them

// For files, standard output and other programs. ASCII only: everything else is a \u escape, so that C1 or bidi
// controls in a name (U+009B, U+202E) cannot steer a terminal, and a parser still gets the original name. Invalid UTF-8
// becomes U+FFFD. indent < 0: one line. Never throws.
[[nodiscard]] std::string to_json_text(const nlohmann::json& json, int indent = -1);
[[nodiscard]] std::string to_json_text(const nlohmann::ordered_json& json, int indent = -1);

// The same in UTF-8, for what no terminal prints.
[[nodiscard]] std::string to_json_utf8(const nlohmann::json& json, int indent = -1);
[[nodiscard]] std::string to_json_utf8(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace oomw
