// SPDX-License-Identifier: Apache-2.0
#include "incident/json_reader.h"

namespace oomw {

JsonReader::JsonReader(const Json& object, std::string where, std::optional<Error>& error)
    : object_(object), where_(std::move(where)), error_(error) {}

const JsonReader::Json* JsonReader::find(const char* name) const {
  if (error_) return nullptr;
  auto it = object_.find(name);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

void JsonReader::refuse(const char* name, std::string_view wanted) {
  if (!error_) error_ = Error{ErrorCode::kInvalid, where_ + name + " is not " + std::string(wanted)};
}

void JsonReader::read(const char* name, std::string& target) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_string()) return refuse(name, "a string");
  target = value->get_ref<const std::string&>();
}

void JsonReader::read(const char* name, bool& target) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_boolean()) return refuse(name, "true or false");
  target = value->get<bool>();
}

void JsonReader::read(const char* name, double& target) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_number()) return refuse(name, "a number");
  target = value->get<double>();
}

void JsonReader::read(const char* name, WallTime& target) {
  std::string text;
  if (find(name) == nullptr) return;
  read(name, text);
  const auto time = parse_rfc3339(text);
  if (!time) return refuse(name, "an RFC 3339 UTC time");
  target = *time;
}

void JsonReader::read(const char* name, std::map<std::string, std::uint64_t>& target) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_object()) return refuse(name, "an object");
  for (const auto& [key, figure] : value->items()) {
    if (!figure.is_number_unsigned()) return refuse(name, "an object of unsigned integers");
    target[key] = figure.get<std::uint64_t>();
  }
}

void JsonReader::read(const char* name, std::map<std::string, std::string>& target) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_object()) return refuse(name, "an object");
  for (const auto& [key, text] : value->items()) {
    if (!text.is_string()) return refuse(name, "an object of strings");
    target[key] = text.get_ref<const std::string&>();
  }
}

void JsonReader::read(const char* name, std::vector<std::string>& target) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_array()) return refuse(name, "an array");
  for (const Json& line : *value) {
    if (!line.is_string()) return refuse(name, "an array of strings");
    target.push_back(line.get_ref<const std::string&>());
  }
}

Result<nlohmann::json> parse_json_object(std::string_view text) {
  nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return fail(ErrorCode::kInvalid, "not JSON, or cut short");
  if (!json.is_object()) return fail(ErrorCode::kInvalid, "not a JSON object");
  return json;
}

}  // namespace oomw
