// SPDX-License-Identifier: Apache-2.0
#include "web/site/incident_query.h"

#include <algorithm>
#include <cctype>
#include <map>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "web/http.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxFacets = 100;

Result<std::optional<WallTime>> time_of(std::string_view text, WallTime now, const char* name) {
  if (text.empty()) return std::optional<WallTime>();
  if (const auto time = parse_since(text, now)) return time;
  return fail(ErrorCode::kInvalid, std::string(name) + " is a time (2026-11-24T10:00:00Z) or an age: 30m, 6h, 7d");
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool has_text(const IncidentSummary& summary, const std::string& wanted) {
  const auto all = {&summary.place, &summary.sentence, &summary.code, &summary.operation, &summary.id, &summary.victim};
  return std::ranges::any_of(all,
                             [&](const std::string* text) { return lower(*text).find(wanted) != std::string::npos; });
}

std::string cause_of(const IncidentSummary& summary) {
  return summary.cause.empty() ? "unknown" : printable(summary.cause, 64);
}

nlohmann::json to_json(const IncidentGroup& group) {
  nlohmann::json out = to_json(group.newest);
  out["kills"] = group.kills;
  out["first"] = to_rfc3339(group.first);
  out["last"] = to_rfc3339(group.last);
  return out;
}

void count(std::map<std::string, std::size_t>& facets, const std::string& name) {
  if (facets.size() < kMaxFacets || facets.contains(name)) ++facets[name];
}

}  // namespace

Result<IncidentQuery> parse_incident_query(std::string_view query, WallTime now) {
  IncidentQuery wanted;
  wanted.filter.pod_namespace = query_value(query, "namespace");
  wanted.filter.pod = query_value(query, "pod");
  wanted.filter.container = query_value(query, "container");
  wanted.filter.cause = query_value(query, "cause");
  wanted.text = lower(query_value(query, "q"));
  wanted.is_grouped = query_value(query, "group") == "1";
  ASSIGN_OR_RETURN(wanted.filter.since, time_of(query_value(query, "since"), now, "since"));
  ASSIGN_OR_RETURN(wanted.filter.until, time_of(query_value(query, "until"), now, "until"));
  if (const std::string limit = query_value(query, "limit"); !limit.empty()) {
    const auto rows = parse_u64(limit);
    if (!rows || *rows == 0 || *rows > IncidentQuery::kMaxRows) {
      return fail(ErrorCode::kInvalid, "limit is a number from 1 to " + std::to_string(IncidentQuery::kMaxRows));
    }
    wanted.limit = *rows;
  }
  return wanted;
}

nlohmann::json to_json(const IncidentSummary& summary) {
  return {{"id", printable(summary.id, 64)},
          {"time", to_rfc3339(summary.time)},
          {"namespace", printable(summary.pod_namespace)},
          {"pod", printable(summary.pod_name)},
          {"container", printable(summary.container)},
          {"name", printable(summary.place)},
          {"cause", cause_of(summary)},
          {"sentence", printable(summary.sentence, 512)},
          {"claim", printable(summary.claim, 32)},
          {"code", printable(summary.code)},
          {"operation", printable(summary.operation)},
          {"victim", printable(summary.victim, 64)},
          {"limit_bytes", summary.limit_bytes ? nlohmann::json(*summary.limit_bytes) : nlohmann::json()},
          {"repeats", summary.repeats},
          {"profiles", summary.profiles}};
}

nlohmann::json answer_of(const IncidentQuery& query, const std::vector<const IncidentSummary*>& newest) {
  std::map<std::string, std::size_t> causes, namespaces;
  IncidentFilter but_cause = query.filter;
  but_cause.cause.clear();
  std::vector<IncidentSummary> fitting;
  for (const IncidentSummary* summary : newest) {
    if (!summary->pod_namespace.empty()) count(namespaces, printable(summary->pod_namespace));
    if (!matches(*summary, but_cause) || !(query.text.empty() || has_text(*summary, query.text))) continue;
    count(causes, cause_of(*summary));
    if (matches(*summary, query.filter)) fitting.push_back(*summary);
  }
  nlohmann::json out = {{"incidents", nlohmann::json::array()},
                        {"matched", fitting.size()},
                        {"total", newest.size()},
                        {"causes", causes},
                        {"namespaces", namespaces}};
  const std::vector<IncidentGroup> rows = rows_of(fitting, query.is_grouped);
  for (std::size_t i = 0; i < std::min(query.limit, rows.size()); ++i) out["incidents"].push_back(to_json(rows[i]));
  out["rows"] = rows.size();
  return out;
}

}  // namespace oomw
