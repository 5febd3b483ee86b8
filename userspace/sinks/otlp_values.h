// SPDX-License-Identifier: Apache-2.0
// Both encodings of what all signals share. Field numbers: opentelemetry-proto 1.11.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <protozero/pbf_writer.hpp>

#include "sinks/otlp_resource.h"

namespace oomw {

void write_otlp_value(protozero::pbf_writer&& any, const OtlpAttribute::Value& value);
void write_otlp_attributes(protozero::pbf_writer& message, unsigned number,
                           const std::vector<OtlpAttribute>& attributes);
// An Export...ServiceRequest of one resource and of one scope, this program. The envelope has the same field numbers in
// every signal; `write_entries` writes log records, metrics or profiles as field kOtlpEntries of the scope.
inline constexpr unsigned kOtlpEntries = 2;
[[nodiscard]] std::string otlp_request(const std::vector<OtlpAttribute>& resource,
                                       const std::function<void(protozero::pbf_writer& scope)>& write_entries);

[[nodiscard]] nlohmann::ordered_json otlp_value_json(const OtlpAttribute::Value& value);
[[nodiscard]] nlohmann::ordered_json otlp_attributes_json(const std::vector<OtlpAttribute>& attributes);
// The same as one element of "resourceLogs" and the like. The names differ: "scopeLogs" and "logRecords".
[[nodiscard]] nlohmann::ordered_json otlp_resource_json(const std::vector<OtlpAttribute>& resource,
                                                        const char* scopes_key, const char* entries_key,
                                                        nlohmann::ordered_json entries);

}  // namespace oomw
