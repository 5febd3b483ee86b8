// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "store/incident_filter.h"

namespace oomw {

// Which incidents a request wants: ?namespace=&pod=&container=&cause=&q=&since=&until=&limit=&group=1
struct IncidentQuery {
  static constexpr std::size_t kMaxRows = 1'000;
  IncidentFilter filter;    // as that of the CLI; its limit is not used
  std::string text;         // a part of place, sentence, code, operation, victim or id; any case
  std::size_t limit = 200;  // rows
  bool is_grouped = false;  // one row for each workload and cause, its newest incident
};

// since, until: "90s", "30m", "6h", "7d" ago, or RFC 3339. kInvalid names what cannot be read.
[[nodiscard]] Result<IncidentQuery> parse_incident_query(std::string_view query, WallTime now);

// {incidents[], rows, matched, total, causes{name: count}, namespaces{}}. The causes are those of all that fits
// otherwise, so that another one can be chosen. Pure.
[[nodiscard]] nlohmann::json answer_of(const IncidentQuery& query, const std::vector<const IncidentSummary*>& newest);
[[nodiscard]] nlohmann::json to_json(const IncidentSummary& summary);

}  // namespace oomw
