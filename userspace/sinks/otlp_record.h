// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "incident/incident.h"

namespace oomw {

// One log record of OpenTelemetry with its resource, in neither of its two encodings yet. Every text is valid UTF-8 and
// bounded.
struct OtlpRecord {
  using Value = std::variant<std::string, std::int64_t, double, bool, std::vector<std::string>>;
  struct Attribute {
    std::string key;
    Value value;
    friend bool operator==(const Attribute&, const Attribute&) = default;
  };
  std::vector<Attribute> resource, attributes;
  WallTime time;      // when it happened
  WallTime observed;  // when it was exported
  std::string event_name, body;
  int severity = 0;
};

struct OtlpMapping {
  std::string cluster_name;              // "" = not known
  std::string host_name;                 // used where no Kubernetes node is known
  bool has_command_line = false;         // may hold secrets
  bool has_service_from_labels = false;  // app.kubernetes.io/instance and .../name before the workload's name
  std::function<std::string(const std::string& id)> artifacts_url = {};  // of object storage; empty: none
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
