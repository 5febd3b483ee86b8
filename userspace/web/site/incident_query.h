// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "web/site/incident_list.h"

namespace oomw {

// Which incidents a request wants: ?namespace=&pod=&container=&cause=&q=&since=&until=&limit=&group=1
struct IncidentQuery {
  static constexpr std::size_t kMaxRows = 1'000;
  std::string k8s_namespace, pod, container, cause;  // exactly; "" = any
  std::string text;                                  // a part of name, sentence, code, operation or id; any case
  std::optional<WallTime> since, until;
  std::size_t limit = 200;
  bool is_grouped = false;  // one row for each workload and cause, its newest incident
};

// since, until: "90s", "30m", "6h", "7d" ago, or RFC 3339. kInvalid names what cannot be read.
[[nodiscard]] Result<IncidentQuery> parse_incident_query(std::string_view query, WallTime now);

// {incidents[], matched, total, causes{name: count}, namespaces{}}. The causes are those of all that fits otherwise, so
// that another one can be chosen. Pure.
[[nodiscard]] nlohmann::json answer_of(const IncidentQuery& query, const std::vector<const IncidentSummary*>& newest);
[[nodiscard]] nlohmann::json to_json(const IncidentSummary& summary);

}  // namespace oomw
