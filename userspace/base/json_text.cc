// SPDX-License-Identifier: Apache-2.0
#include "base/json_text.h"

namespace oomw {
namespace {

template <typename Json>
std::string text_of_json(const Json& json, int indent, bool is_ascii) {
  return json.dump(indent, ' ', is_ascii, Json::error_handler_t::replace);
}

}  // namespace

nlohmann::json parse_json(std::string_view text) { return nlohmann::json::parse(text, nullptr, false); }

bool is_json(std::string_view text) { return nlohmann::json::accept(text); }

nlohmann::ordered_json parse_ordered_json(std::string_view text) {
  return nlohmann::ordered_json::parse(text, nullptr, false);
}

std::string to_json_text(const nlohmann::json& json, int indent) { return text_of_json(json, indent, true); }

std::string to_json_text(const nlohmann::ordered_json& json, int indent) { return text_of_json(json, indent, true); }

std::string to_json_utf8(const nlohmann::json& json, int indent) { return text_of_json(json, indent, false); }

std::string to_json_utf8(const nlohmann::ordered_json& json, int indent) { return text_of_json(json, indent, false); }

}  // namespace oomw
