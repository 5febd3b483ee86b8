// SPDX-License-Identifier: Apache-2.0
#include "incidents/json_reader.h"

#include <ctime>

namespace oomw {

namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

// Exactly `digits` decimal digits at the front of text, taken off it; -1 otherwise.
int take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return -1;
  int value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char wanted) {
  if (text.empty() || text.front() != wanted) return false;
  text.remove_prefix(1);
  return true;
}

// ".123456789", absent = 0; -1 if malformed.
std::int64_t take_fraction(std::string_view& text) {
  if (!take(text, '.')) return 0;
  std::int64_t ns = 0;
  std::int64_t scale = kNanosecondsPerSecond;
  while (!text.empty() && text.front() != 'Z') {
    const int digit = take_number(text, 1);
    if (digit < 0 || scale == 1) return -1;
    scale /= 10;
    ns += digit * scale;
  }
  return scale == kNanosecondsPerSecond ? -1 : ns;
}

}  // namespace

std::optional<WallTime> parse_rfc3339(std::string_view text) {
  std::tm tm{};
  tm.tm_year = take_number(text, 4) - 1900;
  bool ok = take(text, '-');
  tm.tm_mon = take_number(text, 2) - 1;
  ok = ok && take(text, '-');
  tm.tm_mday = take_number(text, 2);
  ok = ok && take(text, 'T');
  tm.tm_hour = take_number(text, 2);
  ok = ok && take(text, ':');
  tm.tm_min = take_number(text, 2);
  ok = ok && take(text, ':');
  tm.tm_sec = take_number(text, 2);
  const std::int64_t fraction = take_fraction(text);
  if (!ok || fraction < 0 || text != "Z") return std::nullopt;
  if (tm.tm_year < 70 || tm.tm_year > 361 || tm.tm_mon < 0 || tm.tm_mday < 1) return std::nullopt;
  const std::tm asked = tm;
  const std::int64_t seconds = ::timegm(&tm);  // normalises: 30 February becomes 2 March
  const bool exact = tm.tm_mon == asked.tm_mon && tm.tm_mday == asked.tm_mday && tm.tm_hour == asked.tm_hour &&
                     tm.tm_min == asked.tm_min && tm.tm_sec == asked.tm_sec;
  if (!exact) return std::nullopt;
  return WallTime{seconds * kNanosecondsPerSecond + fraction};
}

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
