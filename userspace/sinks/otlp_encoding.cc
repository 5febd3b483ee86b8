// SPDX-License-Identifier: Apache-2.0
// Both encodings of a log record. Field numbers: opentelemetry-proto 1.11.
#include <string>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>
#include <protozero/pbf_writer.hpp>

#include "base/version.h"
#include "sinks/otlp_record.h"

namespace oomw {
namespace {

using nlohmann::ordered_json;
using protozero::pbf_writer;

constexpr const char* kScope = "oomwitness";

namespace field {
constexpr unsigned kResourceLogs = 1;                        // ExportLogsServiceRequest
constexpr unsigned kResource = 1, kScopeLogs = 2;            // ResourceLogs
constexpr unsigned kResourceAttributes = 1;                  // Resource
constexpr unsigned kInstrumentationScope = 1, kRecords = 2;  // ScopeLogs
constexpr unsigned kName = 1, kVersion = 2;                  // InstrumentationScope
constexpr unsigned kTime = 1, kSeverity = 2, kBody = 5, kAttributes = 6, kObserved = 11, kEventName = 12;  // LogRecord
constexpr unsigned kKey = 1, kValue = 2;                                                                   // KeyValue
constexpr unsigned kString = 1, kBool = 2, kInt = 3, kDouble = 4, kArray = 5;                              // AnyValue
constexpr unsigned kValues = 1;                                                                            // ArrayValue
}  // namespace field

void write_string(pbf_writer&& any, const std::string& text) { any.add_string(field::kString, text); }

void write_value(pbf_writer&& any, const OtlpRecord::Value& value) {
  std::visit(
      [&](const auto& held) {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::string>) {
          write_string(std::move(any), held);
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          any.add_int64(field::kInt, held);
        } else if constexpr (std::is_same_v<T, double>) {
          any.add_double(field::kDouble, held);
        } else if constexpr (std::is_same_v<T, bool>) {
          any.add_bool(field::kBool, held);
        } else {
          pbf_writer array(any, field::kArray);
          for (const std::string& text : held) write_string(pbf_writer(array, field::kValues), text);
        }
      },
      value);
}

void write_attributes(pbf_writer& message, unsigned number, const std::vector<OtlpRecord::Attribute>& attributes) {
  for (const OtlpRecord::Attribute& attribute : attributes) {
    pbf_writer pair(message, number);
    pair.add_string(field::kKey, attribute.key);
    write_value(pbf_writer(pair, field::kValue), attribute.value);
  }
}

ordered_json string_json(const std::string& text) { return {{"stringValue", text}}; }

ordered_json value_json(const OtlpRecord::Value& value) {
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

ordered_json attributes_json(const std::vector<OtlpRecord::Attribute>& attributes) {
  ordered_json list = ordered_json::array();
  for (const OtlpRecord::Attribute& attribute : attributes) {
    list.push_back({{"key", attribute.key}, {"value", value_json(attribute.value)}});
  }
  return list;
}

}  // namespace

std::string to_otlp_protobuf(const OtlpRecord& record) {
  std::string bytes;
  {
    pbf_writer request(bytes);
    pbf_writer resource_logs(request, field::kResourceLogs);
    {
      pbf_writer resource(resource_logs, field::kResource);
      write_attributes(resource, field::kResourceAttributes, record.resource);
    }
    pbf_writer scope_logs(resource_logs, field::kScopeLogs);
    {
      pbf_writer scope(scope_logs, field::kInstrumentationScope);
      scope.add_string(field::kName, kScope);
      scope.add_string(field::kVersion, std::string(kVersion));
    }
    pbf_writer log(scope_logs, field::kRecords);
    log.add_fixed64(field::kTime, static_cast<std::uint64_t>(record.time.ns));
    log.add_enum(field::kSeverity, record.severity);
    write_string(pbf_writer(log, field::kBody), record.body);
    write_attributes(log, field::kAttributes, record.attributes);
    log.add_fixed64(field::kObserved, static_cast<std::uint64_t>(record.observed.ns));
    log.add_string(field::kEventName, record.event_name);
  }
  return bytes;
}

std::string to_otlp_json(const OtlpRecord& record) {
  const ordered_json log = {{"timeUnixNano", std::to_string(record.time.ns)},
                            {"observedTimeUnixNano", std::to_string(record.observed.ns)},
                            {"severityNumber", record.severity},
                            {"eventName", record.event_name},
                            {"body", string_json(record.body)},
                            {"attributes", attributes_json(record.attributes)}};
  const ordered_json scope_logs = {{"scope", {{"name", kScope}, {"version", kVersion}}},
                                   {"logRecords", ordered_json::array({log})}};
  const ordered_json resource_logs = {{"resource", {{"attributes", attributes_json(record.resource)}}},
                                      {"scopeLogs", ordered_json::array({scope_logs})}};
  const ordered_json data = {{"resourceLogs", ordered_json::array({resource_logs})}};
  return data.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace oomw
