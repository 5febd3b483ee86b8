// SPDX-License-Identifier: Apache-2.0
// Reads and writes JSON by one description of a type: describe(fields, value) names each member once, and `fields` is
// a JsonWriter, a JsonReader or another visitor with the same members. For .cc files.
//
// A Format is a struct beside the describe() functions, which are found by its namespace: one type may have one
// description for recordings and another for incidents. It defines
//   kWritesNull   whether an optional without a value is written as null, or left out;
//   kTimesAsText  whether a WallTime is RFC 3339, or nanoseconds.
#pragma once

#include <cmath>
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

#include "base/bounds.h"
#include "base/clock.h"
#include "base/enum_names.h"
#include "base/json_text.h"
#include "base/result.h"
#include "base/text.h"

namespace oomw {

// How an unknown member is written: one with no value, "", an empty map or list, the integer 0, or a number that is not
// finite. kRequired is always written, and a file without it is refused.
enum class Presence { kAlways, kNull, kOmitted, kRequired };

// T is U or const U: one describe() serves reading and writing.
template <typename T, typename U>
concept Of = std::same_as<std::remove_const_t<T>, U>;
// For decltype(fields).
template <typename Fields>
inline constexpr bool kReads = std::remove_cvref_t<Fields>::kIsReader;

namespace json_fields {

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <typename Format, typename T>
inline constexpr Presence kDefault = kIsOptional<T> ? (Format::kWritesNull ? Presence::kNull : Presence::kOmitted)
                                                    : Presence::kAlways;

template <typename T>
[[nodiscard]] bool is_known(const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::isfinite(value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return value != 0;
  } else if constexpr (kIsOptional<T>) {
    return value.has_value() && (!std::is_floating_point_v<typename T::value_type> || is_known(*value));
  } else if constexpr (requires { value.empty(); }) {
    return !value.empty();
  } else {
    return true;
  }
}

// A value of a closed set, or a type that has names like one.
template <typename T>
concept IsNamed = requires(T& value) {
  read_name(std::string_view(), value);
};

enum class Form { kValue, kNull, kNothing };

[[nodiscard]] inline Form form_of(Presence presence, bool is_known) {
  if (is_known || presence == Presence::kAlways || presence == Presence::kRequired) return Form::kValue;
  return presence == Presence::kNull ? Form::kNull : Form::kNothing;
}

}  // namespace json_fields

// What a visitor that writes JSON, or counts what another one would write, does with members that are not plain values.
template <typename Fields>
class WritesMembers : public PassesOverBounds<Fields> {
 public:
  static constexpr bool kIsReader = false;

  // Members that are known all together or not at all; a reader finds them by `key`.
  template <typename T, typename Body>
  void group(const char* /*key*/, const std::optional<T>& values, const Body& body) {
    if (values) body(*values);
  }
  // A value that follows from the others: written, not read.
  template <typename Make>
  void derived(const char* name, const Make& make, Presence presence = Presence::kAlways) {
    static_cast<Fields&> (*this)(name, make(), presence);
  }
  void check(bool, const char*, std::string_view) {}
};

template <typename Format>
class JsonWriter : public WritesMembers<JsonWriter<Format>> {
 public:
  using WritesMembers<JsonWriter>::operator();
  using Json = nlohmann::ordered_json;  // in the order described

  explicit JsonWriter(Json& object) : object_(object) { object_ = Json::object(); }

  template <typename T>
  void operator()(const char* name, const T& value, Presence presence = json_fields::kDefault<Format, T>) {
    put(name, json_fields::form_of(presence, json_fields::is_known(value)), [&] { return json_of(value); });
  }
  // An object that exists only in the file: body(fields) describes its members.
  template <typename Body>
  void object(const char* name, const Body& body, Presence presence = Presence::kAlways, bool is_known = true) {
    put(name, json_fields::form_of(presence, is_known), [&] {
      Json json;
      JsonWriter fields(json);
      body(fields);
      return json;
    });
  }

  template <typename T>
  [[nodiscard]] static Json json_of(const T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      return value;
    } else if constexpr (json_fields::IsNamed<T>) {
      return to_string(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      return to_valid_utf8(value);
    } else if constexpr (std::is_same_v<T, Nanoseconds>) {
      return value.count();
    } else if constexpr (std::is_same_v<T, WallTime> && Format::kTimesAsText) {
      return to_rfc3339(value);
    } else if constexpr (std::is_same_v<T, WallTime> || std::is_same_v<T, MonotonicTime>) {
      return value.ns;
    } else {
      Json json;
      JsonWriter fields(json);
      describe(fields, value);
      return json;
    }
  }
  template <typename T>
  [[nodiscard]] static Json json_of(const std::optional<T>& value) {
    return value ? json_of(*value) : Json(nullptr);
  }
  template <typename T>
  [[nodiscard]] static Json json_of(const std::map<std::string, T>& values) {
    Json json = Json::object();
    for (const auto& [name, value] : values) json[to_valid_utf8(name)] = json_of(value);
    return json;
  }
  template <typename T>
  [[nodiscard]] static Json json_of(const std::vector<T>& values) {
    Json json = Json::array();
    for (const T& value : values) json.push_back(json_of(value));
    return json;
  }

 private:
  template <typename Make>
  void put(const char* name, json_fields::Form form, const Make& make) {
    if (form == json_fields::Form::kValue) object_[name] = make();
    if (form == json_fields::Form::kNull) object_[name] = nullptr;
  }

  Json& object_;
};

// Strict about what is there, lenient about what is not: absent and null leave a member as it is, unknown members are
// ignored, and the first value of a wrong type or out of range is the error, with its place. For files that an operator
// may have edited or a crash may have damaged. Holds references: use it within one expression or block.
template <typename Format>
class JsonReader : public PassesOverBounds<JsonReader<Format>> {
 public:
  using PassesOverBounds<JsonReader>::operator();
  using Json = nlohmann::json;
  static constexpr bool kIsReader = true;
  static constexpr std::size_t kMaxItems = 4'096;  // of a list; more than is ever written

  JsonReader(const Json& object, std::string where, std::optional<Error>& error)
      : object_(object), where_(std::move(where)), error_(error) {}

  template <typename T>
  void operator()(const char* name, T& value, Presence presence = Presence::kAlways) {
    if (const Json* member = find(name)) return read(*member, name, value);
    if (presence == Presence::kRequired) refuse(name, "present");
  }
  template <typename Body>
  void object(const char* name, const Body& body, Presence = Presence::kAlways, bool = true) {
    if (const Json* member = find(name)) read_object(*member, name, body);
  }
  template <typename T, typename Body>
  void group(const char* key, std::optional<T>& values, const Body& body) {
    if (find(key) != nullptr) body(values.emplace());
  }
  template <typename Make>
  void derived(const char*, const Make&, Presence = Presence::kAlways) {}
  void check(bool is_right, const char* name, std::string_view wanted) {
    if (!is_right) refuse(name, wanted);
  }

 private:
  [[nodiscard]] const Json* find(const char* name) const {  // nullptr: absent, null or failed before
    if (error_) return nullptr;
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  void refuse(const std::string& name, std::string_view wanted) {
    if (!error_) error_ = Error{ErrorCode::kInvalid, where_ + name + " is not " + std::string(wanted)};
  }

  template <typename Body>
  void read_object(const Json& from, const std::string& name, const Body& body) {
    if (!from.is_object()) return refuse(name, "an object");
    JsonReader fields(from, where_ + name + ".", error_);
    body(fields);
  }
  template <typename T>
  void read(const Json& from, const std::string& name, T& to) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      read_integer(from, name, to);
    } else if constexpr (json_fields::IsNamed<T>) {
      if (!from.is_string() || !read_name(from.get_ref<const std::string&>(), to)) refuse(name, "a name of its set");
    } else if constexpr (std::is_same_v<T, Nanoseconds>) {
      std::int64_t count = 0;
      read_integer(from, name, count);
      to = Nanoseconds(count);
    } else if constexpr (std::is_same_v<T, WallTime> && Format::kTimesAsText) {
      const auto time = from.is_string() ? parse_rfc3339(from.get_ref<const std::string&>()) : std::nullopt;
      if (!time) return refuse(name, "an RFC 3339 UTC time");
      to = *time;
    } else if constexpr (std::is_same_v<T, WallTime> || std::is_same_v<T, MonotonicTime>) {
      read_integer(from, name, to.ns);
    } else {
      read_object(from, name, [&](JsonReader& fields) { describe(fields, to); });
    }
  }
  void read(const Json& from, const std::string& name, bool& to) {
    if (!from.is_boolean()) return refuse(name, "true or false");
    to = from.get<bool>();
  }
  void read(const Json& from, const std::string& name, double& to) {
    if (!from.is_number()) return refuse(name, "a number");
    to = from.get<double>();
  }
  void read(const Json& from, const std::string& name, std::string& to) {
    if (!from.is_string()) return refuse(name, "a string");
    to = from.get_ref<const std::string&>();
  }
  template <typename T>
  void read(const Json& from, const std::string& name, std::optional<T>& to) {
    read(from, name, to.emplace());
  }
  template <typename T>
  void read(const Json& from, const std::string& name, std::map<std::string, T>& to) {
    if (!from.is_object()) return refuse(name, "an object");
    for (const auto& [key, value] : from.items()) read(value, name, to[key]);
  }
  template <typename T>
  void read(const Json& from, const std::string& name, std::vector<T>& to) {
    if (!from.is_array() || from.size() > kMaxItems) return refuse(name, "an array of bounded size");
    for (std::size_t i = 0; i < from.size() && !error_; ++i) {
      read(from[i], name + "[" + std::to_string(i) + "]", to.emplace_back());
    }
  }
  template <typename T>
  void read_integer(const Json& from, const std::string& name, T& to) {
    const bool fits = from.is_number_unsigned()
                          ? std::in_range<T>(from.get<std::uint64_t>())
                          : from.is_number_integer() && std::in_range<T>(from.get<std::int64_t>());
    if (!fits) return refuse(name, "an integer in range");
    to = from.get<T>();
  }
  const Json& object_;
  const std::string where_;
  std::optional<Error>& error_;
};

// The text as a JSON object; kInvalid otherwise. Never throws.
[[nodiscard]] inline Result<nlohmann::json> parse_json_object(std::string_view text) {
  nlohmann::json json = parse_json(text);
  if (json.is_discarded()) return fail(ErrorCode::kInvalid, "not JSON, or cut short");
  if (!json.is_object()) return fail(ErrorCode::kInvalid, "not a JSON object");
  return json;
}

// Reads a T by its description.
template <typename Format, typename T>
[[nodiscard]] Result<T> from_json_text(std::string_view text) {
  ASSIGN_OR_RETURN(const nlohmann::json object, parse_json_object(text));
  T value;
  std::optional<Error> error;
  JsonReader<Format> fields(object, "", error);
  describe(fields, value);
  if (error) return tl::make_unexpected(std::move(*error));
  return value;
}

}  // namespace oomw
