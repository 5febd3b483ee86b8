// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "incident/incident.h"
#include "sinks/otlp_resource.h"

namespace oomw {

// One log record of OpenTelemetry with its resource, in neither of its two encodings yet. Every text is valid UTF-8 and
// bounded.
struct OtlpRecord {
  using Value = OtlpAttribute::Value;
  using Attribute = OtlpAttribute;
  std::vector<Attribute> resource, attributes;
  WallTime time;      // when it happened
  WallTime observed;  // when it was exported
  std::string event_name, body;
  int severity = 0;
};

inline constexpr std::string_view kOomKillEvent = "oomwitness.oom_kill";

// What an incident is to OpenTelemetry: the event oomwitness.oom_kill of the victim's container (not of this daemon).
// What is not known has no attribute. `nth`: see Destination::deliver. Pure.
[[nodiscard]] OtlpRecord otlp_record_of(const Incident& incident, const std::string& directory, unsigned nth,
                                        WallTime observed, const OtlpMapping& mapping);

// ExportLogsServiceRequest, protobuf.
[[nodiscard]] std::string to_otlp_protobuf(const OtlpRecord& record);
// The same as OTLP JSON on one line, which is a LogsData too; without the newline.
[[nodiscard]] std::string to_otlp_json(const OtlpRecord& record);

}  // namespace oomw
