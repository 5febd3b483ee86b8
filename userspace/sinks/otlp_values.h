// SPDX-License-Identifier: Apache-2.0
// Both encodings of what log records and metrics share. Field numbers: opentelemetry-proto 1.11.
#pragma once

#include <vector>

#include <nlohmann/json.hpp>
#include <protozero/pbf_writer.hpp>

#include "sinks/otlp_resource.h"

namespace oomw {

void write_otlp_value(protozero::pbf_writer&& any, const OtlpAttribute::Value& value);
void write_otlp_attributes(protozero::pbf_writer& message, unsigned number,
                           const std::vector<OtlpAttribute>& attributes);
void write_otlp_scope(protozero::pbf_writer&& scope);  // who says it: this program

[[nodiscard]] nlohmann::ordered_json otlp_value_json(const OtlpAttribute::Value& value);
[[nodiscard]] nlohmann::ordered_json otlp_attributes_json(const std::vector<OtlpAttribute>& attributes);
[[nodiscard]] nlohmann::ordered_json otlp_scope_json();

}  // namespace oomw
