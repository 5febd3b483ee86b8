// SPDX-License-Identifier: Apache-2.0
// Strict reading of the JSON files in our data directory, which an operator may have edited and a
// crash may have damaged.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/result.h"

namespace oomw {

// Reads the members of one JSON object. Absent and null leave the target alone (unknown); a wrong
// type fails the reader, and with it every reader below the same root: the first failure is what
// error() tells. Unknown members are never looked at. Holds references: one expression or block.
class JsonReader {
 public:
  using Json = nlohmann::json;

  JsonReader(const Json& object, std::string where, std::optional<Error>& error);

  void read(const char* name, std::string& target);
  void read(const char* name, bool& target);
  void read(const char* name, double& target);
  void read(const char* name, WallTime& target);
  void read(const char* name, std::map<std::string, std::uint64_t>& target);
  void read(const char* name, std::map<std::string, std::string>& target);
  void read(const char* name, std::vector<std::string>& target);

  template <typename Integer>
  requires std::is_integral_v<Integer>
  void read(const char* name, Integer& target) {
    const Json* value = find(name);
    if (value == nullptr) return;
    if (!fits<Integer>(*value)) return refuse(name, "an integer in range");
    target = value->get<Integer>();
  }
  template <typename T>
  void read(const char* name, std::optional<T>& target) {
    if (find(name) == nullptr) return;
    read(name, target.emplace());
  }
  template <typename T>
  void require(const char* name, T& target) {
    if (find(name) == nullptr) return refuse(name, "present");
    read(name, target);
  }
  // Calls body(reader) for the object `name`; not at all when it is absent or null.
  template <typename Body>
  void object(const char* name, Body&& body) {
    const Json* value = find(name);
    if (value == nullptr) return;
    if (!value->is_object()) return refuse(name, "an object");
    body(JsonReader(*value, where_ + name + ".", error_));
  }
  // Calls body(reader) for each object of the array `name`, at most `max`.
  template <typename Body>
  void objects(const char* name, std::size_t max, Body&& body) {
    const Json* value = find(name);
    if (value == nullptr) return;
    if (!value->is_array() || value->size() > max) return refuse(name, "an array of bounded size");
    for (std::size_t i = 0; i < value->size() && !error_; ++i) {
      const std::string where = where_ + name + "[" + std::to_string(i) + "]";
      if (!(*value)[i].is_object()) return refuse(name, "an array of objects");
      body(JsonReader((*value)[i], where + ".", error_));
    }
  }
  void refuse(const char* name, std::string_view wanted);

 private:
  template <typename Integer>
  static bool fits(const Json& value) {
    if (value.is_number_unsigned()) return std::in_range<Integer>(value.get<std::uint64_t>());
    return value.is_number_integer() && std::in_range<Integer>(value.get<std::int64_t>());
  }
  [[nodiscard]] const Json* find(const char* name) const;  // nullptr: absent, null or failed before

  const Json& object_;
  const std::string where_;
  std::optional<Error>& error_;
};

// The text as a JSON object; kInvalid otherwise.
[[nodiscard]] Result<nlohmann::json> parse_json_object(std::string_view text);

}  // namespace oomw
