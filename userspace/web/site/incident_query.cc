// SPDX-License-Identifier: Apache-2.0
#include "web/site/incident_query.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "web/http.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxFacets = 100;

std::optional<std::int64_t> seconds_of(char unit) {
  switch (unit) {
    case 's':
      return 1;
    case 'm':
      return 60;
    case 'h':
      return 3'600;
    case 'd':
      return 86'400;
    default:
      return std::nullopt;
  }
}

Result<std::optional<WallTime>> time_of(std::string_view text, WallTime now, const char* name) {
  if (text.empty()) return std::optional<WallTime>();
  if (const auto time = parse_rfc3339(text)) return time;
  constexpr std::uint64_t kMaxCount = 1'000'000;
  const auto unit = seconds_of(text.back());
  const auto count = parse_u64(text.substr(0, text.size() - 1));
  if (unit && count && *count <= kMaxCount) {
    const std::int64_t ago = static_cast<std::int64_t>(*count) * *unit;
    if (ago < now.ns / 1'000'000'000) return WallTime{now.ns - ago * 1'000'000'000};
    return WallTime{0};
  }
  return fail(ErrorCode::kInvalid, std::string(name) + " is a time (2026-11-24T10:00:00Z) or an age: 30m, 6h, 7d");
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool has_text(const IncidentSummary& summary, const std::string& wanted) {
  const auto all = {&summary.name, &summary.sentence, &summary.code, &summary.operation, &summary.id, &summary.victim};
  return std::ranges::any_of(all,
                             [&](const std::string* text) { return lower(*text).find(wanted) != std::string::npos; });
}

bool fits_but_cause(const IncidentQuery& query, const IncidentSummary& summary) {
  const auto is = [](const std::string& wanted, const std::string& value) { return wanted.empty() || wanted == value; };
  return is(query.k8s_namespace, summary.k8s_namespace) && is(query.pod, summary.pod) &&
         is(query.container, summary.container) && (!query.since || summary.time >= *query.since) &&
         (!query.until || summary.time <= *query.until) && (query.text.empty() || has_text(summary, query.text));
}

struct Row {
  const IncidentSummary* newest = nullptr;
  std::uint64_t kills = 0;  // with the repeats
  std::size_t incidents = 0;
  WallTime first;
};

nlohmann::json to_json(const Row& row) {
  nlohmann::json out = to_json(*row.newest);
  out["kills"] = row.kills;
  out["incidents"] = row.incidents;
  out["first"] = to_rfc3339(row.first);
  return out;
}

// Newest first stays newest first: a group stands where its newest incident does.
std::vector<Row> rows_of(const IncidentQuery& query, const std::vector<const IncidentSummary*>& fitting) {
  std::vector<Row> rows;
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  for (const IncidentSummary* summary : fitting) {
    const bool is_alone = !query.is_grouped || summary->workload.empty();
    const std::string key = is_alone ? summary->id : summary->workload;
    const auto [at, is_new] = known.try_emplace({key, is_alone ? "" : summary->cause}, rows.size());
    if (is_new) rows.push_back({summary, 0, 0, summary->time});
    Row& row = rows[at->second];
    row.kills += 1 + summary->repeats;
    ++row.incidents;
    row.first = std::min(row.first, summary->time);
  }
  return rows;
}

void count(std::map<std::string, std::size_t>& facets, const std::string& name) {
  if (facets.size() < kMaxFacets || facets.contains(name)) ++facets[name];
}

}  // namespace

Result<IncidentQuery> parse_incident_query(std::string_view query, WallTime now) {
  IncidentQuery wanted;
  wanted.k8s_namespace = query_value(query, "namespace");
  wanted.pod = query_value(query, "pod");
  wanted.container = query_value(query, "container");
  wanted.cause = query_value(query, "cause");
  wanted.text = lower(query_value(query, "q"));
  wanted.is_grouped = query_value(query, "group") == "1";
  ASSIGN_OR_RETURN(wanted.since, time_of(query_value(query, "since"), now, "since"));
  ASSIGN_OR_RETURN(wanted.until, time_of(query_value(query, "until"), now, "until"));
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
  return {{"id", summary.id},
          {"time", to_rfc3339(summary.time)},
          {"namespace", summary.k8s_namespace},
          {"pod", summary.pod},
          {"container", summary.container},
          {"name", summary.name},
          {"cause", summary.cause},
          {"sentence", summary.sentence},
          {"code", summary.code},
          {"operation", summary.operation},
          {"victim", summary.victim},
          {"limit_bytes", summary.limit_bytes ? nlohmann::json(*summary.limit_bytes) : nlohmann::json()},
          {"repeats", summary.repeats},
          {"profiles", summary.profiles}};
}

nlohmann::json answer_of(const IncidentQuery& query, const std::vector<const IncidentSummary*>& newest) {
  std::map<std::string, std::size_t> causes, namespaces;
  std::vector<const IncidentSummary*> fitting;
  for (const IncidentSummary* summary : newest) {
    if (!summary->k8s_namespace.empty()) count(namespaces, summary->k8s_namespace);
    if (!fits_but_cause(query, *summary)) continue;
    count(causes, summary->cause);
    if (query.cause.empty() || query.cause == summary->cause) fitting.push_back(summary);
  }
  nlohmann::json out = {{"incidents", nlohmann::json::array()},
                        {"matched", fitting.size()},
                        {"total", newest.size()},
                        {"causes", causes},
                        {"namespaces", namespaces}};
  const std::vector<Row> rows = rows_of(query, fitting);
  for (std::size_t i = 0; i < std::min(query.limit, rows.size()); ++i) out["incidents"].push_back(to_json(rows[i]));
  out["rows"] = rows.size();
  return out;
}

}  // namespace oomw
