// SPDX-License-Identifier: Apache-2.0
// The JSON Schema (draft 2020-12) of a described type, and a check of a document against it.
#pragma once

#include <string>

#include "events/json_fields.h"

namespace oomw::test {

// A visitor of describe(), see events/json_fields.h. A member that may be left out may also be null: to readers that
// is the same.
template <typename Format>
class JsonSchema : public PassesOverBounds<JsonSchema<Format>> {
 public:
  using PassesOverBounds<JsonSchema>::operator();
  using Json = nlohmann::ordered_json;
  static constexpr bool kIsReader = false;

  explicit JsonSchema(Json& schema) : schema_(schema) {
    schema_ = {{"type", "object"}, {"required", Json::array()}, {"properties", Json::object()}};
  }

  template <typename T>
  void operator()(const char* name, const T&, Presence presence = json_fields::kDefault<Format, T>) {
    add(name, schema_of<T>(), presence);
  }
  template <typename Body>
  void object(const char* name, const Body& body, Presence presence = Presence::kAlways, bool = true) {
    Json schema;
    JsonSchema fields(schema);
    body(fields);
    add(name, std::move(schema), presence);
  }
  template <typename T, typename Body>
  void group(const char*, const std::optional<T>&, const Body& body) {
    const T known{};
    is_group_ = true;
    body(known);
    is_group_ = false;
  }
  template <typename Make>
  void derived(const char* name, const Make& make, Presence presence = Presence::kAlways) {
    (*this)(name, make(), presence);
  }
  void check(bool, const char*, std::string_view) {}

  template <typename T>
  [[nodiscard]] static Json schema_of() {
    if constexpr (std::is_same_v<T, bool>) {
      return {{"type", "boolean"}};
    } else if constexpr (std::is_unsigned_v<T>) {
      return {{"type", "integer"}, {"minimum", 0}};
    } else if constexpr (std::is_integral_v<T>) {
      return {{"type", "integer"}};
    } else if constexpr (std::is_floating_point_v<T>) {
      return {{"type", {"number", "null"}}};  // JSON has no infinity
    } else if constexpr (std::is_same_v<T, std::string>) {
      return {{"type", "string"}};
    } else if constexpr (std::is_same_v<T, WallTime>) {
      return {{"type", "string"}, {"format", "date-time"}};
    } else {
      return schema_of_many(static_cast<const T*>(nullptr));
    }
  }

 private:
  template <typename T>
  static Json schema_of_many(const T*) {
    Json schema;
    JsonSchema fields(schema);
    const T value{};
    describe(fields, value);
    return schema;
  }
  template <typename T>
  static Json schema_of_many(const std::optional<T>*) {
    return schema_of<T>();
  }
  template <typename T>
  static Json schema_of_many(const std::map<std::string, T>*) {
    return {{"type", "object"}, {"additionalProperties", schema_of<T>()}};
  }
  template <typename T>
  static Json schema_of_many(const std::vector<T>*) {
    return {{"type", "array"}, {"items", schema_of<T>()}};
  }

  void add(const char* name, Json member, Presence presence) {
    const bool may_be_null = presence == Presence::kNull || presence == Presence::kOmitted;
    if (may_be_null && member["type"].is_string()) {
      Json types = Json::array({member["type"], "null"});
      member["type"].swap(types);
    }
    schema_["properties"][name] = std::move(member);
    if (presence != Presence::kOmitted && !is_group_) schema_["required"].push_back(name);
  }

  Json& schema_;
  bool is_group_ = false;
};

// What in `value` is not as `schema` has it; "" if nothing. Stricter than JSON Schema: a member that is not described
// is a fault. Knows the keywords that JsonSchema writes.
[[nodiscard]] std::string schema_fault(const nlohmann::ordered_json& value, const nlohmann::ordered_json& schema,
                                       const std::string& where = "incident");

}  // namespace oomw::test
