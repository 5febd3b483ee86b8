// SPDX-License-Identifier: Apache-2.0
// Both encodings of a log record. Field numbers: opentelemetry-proto 1.11.
#include <string>

#include <nlohmann/json.hpp>
#include <protozero/pbf_writer.hpp>

#include "base/json_text.h"
#include "sinks/otlp_record.h"
#include "sinks/otlp_values.h"

namespace oomw {
namespace {

using nlohmann::ordered_json;
using protozero::pbf_writer;

struct LogField {
  static constexpr unsigned kTime = 1, kSeverity = 2, kBody = 5, kAttributes = 6, kObserved = 11,
                            kEventName = 12;  // LogRecord
};

}  // namespace

std::string to_otlp_protobuf(const OtlpRecord& record) {
  return otlp_request(record.resource, [&](pbf_writer& scope) {
    pbf_writer log(scope, kOtlpEntries);
    log.add_fixed64(LogField::kTime, static_cast<std::uint64_t>(record.time.ns));
    log.add_enum(LogField::kSeverity, record.severity);
    write_otlp_value(pbf_writer(log, LogField::kBody), record.body);
    write_otlp_attributes(log, LogField::kAttributes, record.attributes);
    log.add_fixed64(LogField::kObserved, static_cast<std::uint64_t>(record.observed.ns));
    log.add_string(LogField::kEventName, record.event_name);
  });
}

std::string to_otlp_json(const OtlpRecord& record) {
  const ordered_json log = {{"timeUnixNano", std::to_string(record.time.ns)},
                            {"observedTimeUnixNano", std::to_string(record.observed.ns)},
                            {"severityNumber", record.severity},
                            {"eventName", record.event_name},
                            {"body", otlp_value_json(record.body)},
                            {"attributes", otlp_attributes_json(record.attributes)}};
  const ordered_json data = {
      {"resourceLogs", ordered_json::array({otlp_resource_json(record.resource, "scopeLogs", "logRecords",
                                                               ordered_json::array({log}))})}};
  return to_json_utf8(data);
}

}  // namespace oomw
