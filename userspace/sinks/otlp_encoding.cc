// SPDX-License-Identifier: Apache-2.0
// Both encodings of a log record. Field numbers: opentelemetry-proto 1.11.
#include <string>

#include <nlohmann/json.hpp>
#include <protozero/pbf_writer.hpp>

#include "sinks/otlp_record.h"
#include "sinks/otlp_values.h"

namespace oomw {
namespace {

using nlohmann::ordered_json;
using protozero::pbf_writer;

namespace field {
constexpr unsigned kResourceLogs = 1;                        // ExportLogsServiceRequest
constexpr unsigned kResource = 1, kScopeLogs = 2;            // ResourceLogs
constexpr unsigned kResourceAttributes = 1;                  // Resource
constexpr unsigned kInstrumentationScope = 1, kRecords = 2;  // ScopeLogs
constexpr unsigned kTime = 1, kSeverity = 2, kBody = 5, kAttributes = 6, kObserved = 11, kEventName = 12;  // LogRecord
}  // namespace field

}  // namespace

std::string to_otlp_protobuf(const OtlpRecord& record) {
  std::string bytes;
  {
    pbf_writer request(bytes);
    pbf_writer resource_logs(request, field::kResourceLogs);
    {
      pbf_writer resource(resource_logs, field::kResource);
      write_otlp_attributes(resource, field::kResourceAttributes, record.resource);
    }
    pbf_writer scope_logs(resource_logs, field::kScopeLogs);
    write_otlp_scope(pbf_writer(scope_logs, field::kInstrumentationScope));
    pbf_writer log(scope_logs, field::kRecords);
    log.add_fixed64(field::kTime, static_cast<std::uint64_t>(record.time.ns));
    log.add_enum(field::kSeverity, record.severity);
    write_otlp_value(pbf_writer(log, field::kBody), record.body);
    write_otlp_attributes(log, field::kAttributes, record.attributes);
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
                            {"body", otlp_value_json(record.body)},
                            {"attributes", otlp_attributes_json(record.attributes)}};
  const ordered_json scope_logs = {{"scope", otlp_scope_json()}, {"logRecords", ordered_json::array({log})}};
  const ordered_json resource_logs = {{"resource", {{"attributes", otlp_attributes_json(record.resource)}}},
                                      {"scopeLogs", ordered_json::array({scope_logs})}};
  const ordered_json data = {{"resourceLogs", ordered_json::array({resource_logs})}};
  return data.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace oomw
