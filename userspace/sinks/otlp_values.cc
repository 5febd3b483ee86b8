// SPDX-License-Identifier: Apache-2.0
#include "sinks/otlp_values.h"

#include <type_traits>
#include <utility>

#include "base/version.h"

namespace oomw {
namespace {

using nlohmann::ordered_json;
using protozero::pbf_writer;

constexpr const char* kScopeName = "oomwitness";

struct ValueField {
  static constexpr unsigned kResources = 1;              // Export...ServiceRequest
  static constexpr unsigned kResource = 1, kScopes = 2;  // ResourceLogs, ResourceMetrics, ...
  static constexpr unsigned kResourceAttributes = 1;     // Resource
  static constexpr unsigned kScope = 1;                  // ScopeLogs, ScopeMetrics, ...
  static constexpr unsigned kName = 1, kVersion = 2;     // InstrumentationScope
  static constexpr unsigned kKey = 1, kValue = 2;        // KeyValue
  static constexpr unsigned kString = 1, kBool = 2, kInt = 3, kDouble = 4, kArray = 5;  // AnyValue
  static constexpr unsigned kValues = 1;                                                // ArrayValue
};

void write_string(pbf_writer&& any, const std::string& text) { any.add_string(ValueField::kString, text); }

ordered_json string_json(const std::string& text) { return {{"stringValue", text}}; }

}  // namespace

void write_otlp_value(pbf_writer&& any, const OtlpAttribute::Value& value) {
  std::visit(
      [&](const auto& held) {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::string>) {
          write_string(std::move(any), held);
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          any.add_int64(ValueField::kInt, held);
        } else if constexpr (std::is_same_v<T, double>) {
          any.add_double(ValueField::kDouble, held);
        } else if constexpr (std::is_same_v<T, bool>) {
          any.add_bool(ValueField::kBool, held);
        } else {
          pbf_writer array(any, ValueField::kArray);
          for (const std::string& text : held) write_string(pbf_writer(array, ValueField::kValues), text);
        }
      },
      value);
}

void write_otlp_attributes(pbf_writer& message, unsigned number, const std::vector<OtlpAttribute>& attributes) {
  for (const OtlpAttribute& attribute : attributes) {
    pbf_writer pair(message, number);
    pair.add_string(ValueField::kKey, attribute.key);
    write_otlp_value(pbf_writer(pair, ValueField::kValue), attribute.value);
  }
}

ordered_json otlp_value_json(const OtlpAttribute::Value& value) {
  return std::visit(
      [](const auto& held) -> ordered_json {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::string>) {
          return string_json(held);
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          return {{"intValue", std::to_string(held)}};
        } else if constexpr (std::is_same_v<T, double>) {
          return {{"doubleValue", held}};
        } else if constexpr (std::is_same_v<T, bool>) {
          return {{"boolValue", held}};
        } else {
          ordered_json values = ordered_json::array();
          for (const std::string& text : held) values.push_back(string_json(text));
          return {{"arrayValue", {{"values", std::move(values)}}}};
        }
      },
      value);
}

ordered_json otlp_attributes_json(const std::vector<OtlpAttribute>& attributes) {
  ordered_json list = ordered_json::array();
  for (const OtlpAttribute& attribute : attributes) {
    list.push_back({{"key", attribute.key}, {"value", otlp_value_json(attribute.value)}});
  }
  return list;
}

std::string otlp_request(const std::vector<OtlpAttribute>& resource,
                         const std::function<void(pbf_writer& scope)>& write_entries) {
  std::string bytes;
  {
    pbf_writer request(bytes);
    pbf_writer of_resource(request, ValueField::kResources);
    {
      pbf_writer message(of_resource, ValueField::kResource);
      write_otlp_attributes(message, ValueField::kResourceAttributes, resource);
    }
    pbf_writer of_scope(of_resource, ValueField::kScopes);
    {
      pbf_writer scope(of_scope, ValueField::kScope);
      scope.add_string(ValueField::kName, kScopeName);
      scope.add_string(ValueField::kVersion, std::string(kVersion));
    }
    write_entries(of_scope);
  }
  return bytes;
}

ordered_json otlp_resource_json(const std::vector<OtlpAttribute>& resource, const char* scopes_key,
                                const char* entries_key, ordered_json entries) {
  const ordered_json scope = {{"scope", {{"name", kScopeName}, {"version", kVersion}}},
                              {entries_key, std::move(entries)}};
  return {{"resource", {{"attributes", otlp_attributes_json(resource)}}}, {scopes_key, ordered_json::array({scope})}};
}

}  // namespace oomw
