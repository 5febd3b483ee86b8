// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text.h"
#include "incident/incident_size.h"
#include "support/builders.h"
#include "unit/incident/golden.h"

namespace oomw {
namespace {

using test::bare_incident;
using test::sample_incident;

std::string with(const char* pointer, const nlohmann::json& value) {
  nlohmann::json json = nlohmann::json::parse(to_json(sample_incident()));
  json[nlohmann::json::json_pointer(pointer)] = value;
  return json.dump();
}

std::string error_of(const std::string& text) {
  const auto incident = incident_from_json(text);
  if (incident) return "";
  EXPECT_EQ(incident.error().code, ErrorCode::kInvalid);
  return incident.error().message;
}

// "/victims/0/exe" -> "victims.exe"
std::string field_of(const std::string& pointer) {
  std::string field;
  for (const std::string_view part : split(pointer, '/')) {
    if (part.empty() || parse_u64(part)) continue;
    field += field.empty() ? part : "." + std::string(part);
  }
  return field;
}

bool has_note_about(const nlohmann::json& incident, const std::string& field) {
  return std::any_of(incident["notes"].begin(), incident["notes"].end(), [&](const nlohmann::json& note) {
    const std::string text = note.get<std::string>();
    const std::string about = text.substr(0, text.find(':'));
    return about == field || about == field.substr(0, field.find('.'));
  });
}

TEST(IncidentJsonTest, known_incident_is_as_documented) {
  test::expect_golden("known.json", to_json(sample_incident()));
}

TEST(IncidentJsonTest, bare_incident_explains_every_null) {
  test::expect_golden("bare.json", to_json(bare_incident()));
}

TEST(IncidentJsonTest, round_trip_changes_nothing) {
  for (const Incident& incident : {sample_incident(), bare_incident()}) {
    const std::string text = to_json(incident);
    const auto read = incident_from_json(text);
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(to_json(*read), text);
  }
}

TEST(IncidentJsonTest, round_trip_keeps_the_struct) {
  const Incident written = sample_incident();
  const Incident read = *incident_from_json(to_json(written));
  EXPECT_EQ(read.time, written.time);
  EXPECT_EQ(read.cgroup, written.cgroup);
  EXPECT_EQ(read.container, written.container);
  EXPECT_EQ(read.victims[0].process, written.victims[0].process);
  EXPECT_EQ(read.victims[0].started, written.victims[0].started);
  EXPECT_EQ(read.reclaim->stall_ns, written.reclaim->stall_ns);
  EXPECT_EQ(read.series.size(), written.series.size());
  EXPECT_EQ(read.captures[0].file, "capture-01-http.pb.gz");
  EXPECT_EQ(read.captures[0].spool_file, "");
  EXPECT_EQ(read.lost, written.lost);
}

TEST(IncidentJsonTest, what_go_was_told_survives_and_is_absent_where_nothing_was) {
  Incident incident = sample_incident();
  EXPECT_FALSE(nlohmann::json::parse(to_json(incident))["victims"][0].contains("go"));
  incident.victims[0].go = {-1, 100u << 20};
  const auto again = incident_from_json(to_json(incident));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->victims[0].go.gogc_percent, -1);
  EXPECT_EQ(again->victims[0].go.memory_limit_bytes, 100u << 20);
}

TEST(IncidentJsonTest, every_null_has_a_note) {
  const nlohmann::json json = nlohmann::json::parse(to_json(bare_incident()));
  const nlohmann::json flat = json.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    if (!json.at(nlohmann::json::json_pointer(pointer)).is_null()) continue;  // flatten() shows empty lists as null too
    const std::string path = field_of(pointer);
    // What is meaningless without its neighbour shares the neighbour's note.
    static const std::map<std::string, std::string> kShared = {{"victims.start_ticks", "victims.start_time"},
                                                               {"trigger.comm", "trigger.pid"},
                                                               {"container.runtime", "container.id"},
                                                               {"container.unit", "container.id"},
                                                               {"container.cgroup_id", "container.cgroup_path"}};
    const auto shared = kShared.find(path);
    const std::string field = shared == kShared.end() ? path : shared->second;
    EXPECT_TRUE(has_note_about(json, field)) << path;
  }
}

TEST(IncidentJsonTest, whose_heap_a_capture_shows_survives_and_is_absent_where_it_is_not_known) {
  Incident incident = sample_incident();
  incident.captures[0].of.clear();
  const std::string json = to_json(incident);
  EXPECT_FALSE(nlohmann::json::parse(json)["captures"][0].contains("of"));
  EXPECT_EQ(incident_from_json(json)->captures[0].of, "");
  EXPECT_EQ(incident_from_json(json)->captures[1].of, "go");
}

TEST(IncidentJsonTest, goroutines_of_the_kill_survive_and_are_absent_where_none_were_counted) {
  Incident incident = sample_incident();
  incident.captures[0].goroutines = {{6390, "waiting", "chan receive"}, {10, "runnable", ""}};
  incident.captures[0].goroutines_cut = "time_limit";
  const std::string json = to_json(incident);
  EXPECT_FALSE(nlohmann::json::parse(json)["captures"][1].contains("goroutines"));
  const auto read = incident_from_json(json);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->captures[0].goroutines, incident.captures[0].goroutines);
  EXPECT_EQ(read->captures[0].goroutines_cut, "time_limit");
}

TEST(IncidentJsonTest, python_s_pools_at_the_kill_survive_and_are_absent_where_none_were_counted) {
  Incident incident = sample_incident();
  incident.analyses.resize(2);
  incident.analyses[1].pools = PoolsAtKill{900, 64, 60, {{"dict", 800, 10, 60, 5}}, "time_limit"};
  const std::string json = to_json(incident);
  EXPECT_FALSE(nlohmann::json::parse(json)["analyses"][0].contains("pools"));
  const auto read = incident_from_json(json);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->analyses[1].pools, incident.analyses[1].pools);
}

TEST(IncidentJsonTest, hostile_bytes_become_valid_utf8) {
  Incident incident = sample_incident();
  incident.victims[0].comm = "a\xff\xfe\"\n\x01";
  incident.victims[0].cmdline = std::string("x\0y", 3);
  incident.container.labels = {{"k\xc3", "v\x80"}};
  incident.memory_stat = {{"\xed\xa0\x80", 1}};
  const auto read = incident_from_json(to_json(incident));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->victims[0].comm, "a\uFFFD\uFFFD\"\n\x01");
  EXPECT_EQ(read->victims[0].cmdline, std::string("x\0y", 3));
}

TEST(IncidentJsonTest, names_that_would_steer_a_terminal_are_escaped_and_survive) {
  const std::string evil = "\u009b31m\u202egpj.\x7f";
  Incident incident = sample_incident();
  incident.victims[0].comm = incident.container.name = incident.captures[0].detail = evil;
  incident.container.labels = {{evil, evil}};
  const std::string text = to_json(incident);
  EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c < '\x7f'); }));
  const auto read = incident_from_json(text);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->victims[0].comm, evil);
  EXPECT_EQ(read->container.labels.at(evil), evil);
}

TEST(IncidentJsonTest, figures_when_64_bits_wide_survive) {
  Incident incident = sample_incident();
  incident.usage_bytes = UINT64_MAX;
  incident.cgroup.value = UINT64_MAX - 1;
  const Incident read = *incident_from_json(to_json(incident));
  EXPECT_EQ(read.usage_bytes, UINT64_MAX);
  EXPECT_EQ(read.cgroup.value, UINT64_MAX - 1);
}

TEST(IncidentJsonTest, unknown_keys_are_ignored) {
  EXPECT_EQ(error_of(with("/something_new", nlohmann::json{{"a", 1}})), "");
  EXPECT_EQ(error_of(with("/captures/0/new", "x")), "");
}

TEST(IncidentJsonTest, wrong_types_are_refused_with_where) {
  EXPECT_THAT(error_of(with("/usage_bytes", "1")), ::testing::StartsWith("usage_bytes"));
  EXPECT_THAT(error_of(with("/usage_bytes", -1)), ::testing::StartsWith("usage_bytes"));
  EXPECT_THAT(error_of(with("/usage_bytes", 1.5)), ::testing::StartsWith("usage_bytes"));
  EXPECT_THAT(error_of(with("/victims/0/pid", 1LL << 40)), ::testing::StartsWith("victims[0].pid"));
  EXPECT_THAT(error_of(with("/captures/1/time", "yesterday")), ::testing::StartsWith("captures[1].time"));
  EXPECT_THAT(error_of(with("/container", 3)), ::testing::StartsWith("container"));
  EXPECT_THAT(error_of(with("/series", nlohmann::json::object())), ::testing::StartsWith("series"));
  EXPECT_THAT(error_of(with("/notes/0", 1)), ::testing::StartsWith("notes"));
  EXPECT_THAT(error_of(with("/memory_stat/anon", "x")), ::testing::StartsWith("memory_stat"));
  EXPECT_THAT(error_of(with("/trigger/same_cgroup", 1)), ::testing::StartsWith("trigger.same_cgroup"));
}

TEST(IncidentJsonTest, other_schema_versions_are_refused) {
  EXPECT_THAT(error_of(with("/schema_version", 2)), ::testing::StartsWith("schema_version"));
}

TEST(IncidentJsonTest, file_names_that_lead_elsewhere_are_refused) {
  for (const char* name : {"../x.pb.gz", "/etc/passwd", "..", "a/b"}) {
    EXPECT_THAT(error_of(with("/captures/0/file", name)), ::testing::StartsWith("captures[0].file")) << name;
  }
  EXPECT_THAT(error_of(with("/id", "../../x")), ::testing::StartsWith("id"));
}

TEST(IncidentJsonTest, texts_that_are_no_incident_are_refused) {
  for (const char* text : {"", "{", "[]", "null", "{}", "\"x\"", "{\"schema_version\":1}"}) {
    EXPECT_NE(error_of(text), "") << text;
  }
  const std::string whole = to_json(sample_incident());
  EXPECT_NE(error_of(whole.substr(0, whole.size() / 2)), "");
}

TEST(Rfc3339Test, times_when_well_formed_round_trip) {
  EXPECT_EQ(parse_rfc3339("2026-11-21T03:04:05.123456789Z"), test::kKillTime);
  EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:00Z"), WallTime{0});
  EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:00.5Z"), WallTime{500'000'000});
  EXPECT_EQ(to_rfc3339(test::kKillTime), "2026-11-21T03:04:05.123456789Z");
}

TEST(Rfc3339Test, times_when_malformed_are_refused) {
  for (const char* text :
       {"", "2026-11-21", "2026-11-21T03:04:05", "2026-11-21T03:04:05+01:00", "2026-02-30T00:00:00Z",
        "2026-13-01T00:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T03:04:60Z", "1969-12-31T23:59:59Z",
        "2026-11-21T03:04:05.Z", "2026-11-21T03:04:05.1234567890Z", "2026-11-21T03:04:05Zx", "2262-01-01T00:00:00Z",
        "2026/11/21T03:04:05Z", "2026-1-21T03:04:05Z"}) {
    EXPECT_FALSE(parse_rfc3339(text).has_value()) << text;
  }
}

TEST(IncidentJsonTest, a_trend_that_is_larger_than_any_that_is_written_is_refused) {
  nlohmann::json json = nlohmann::json::parse(to_json(sample_incident()));
  nlohmann::json& sites = json["trend"]["sites"];
  const nlohmann::json site = sites[0];
  for (std::size_t i = 0; i < TrendJudged::kMaxSites; ++i) sites.push_back(site);
  EXPECT_THAT(error_of(json.dump()), ::testing::HasSubstr("trend.sites"));
}

TEST(IncidentJsonTest, a_file_of_the_trend_leads_nowhere_else) {
  for (const char* name : {"../x", "/etc/passwd", ".."}) {
    EXPECT_THAT(error_of(with("/trend/points/0/file", name)), ::testing::HasSubstr("file")) << name;
  }
}

// They are never made anew, as the goldens are: what a data directory holds must not become unreadable.
TEST(IncidentJsonTest, incidents_that_earlier_versions_wrote_keep_every_figure) {
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_tree() + "/tests/fixtures/incidents")) {
    const std::string text = read_file(entry.path(), kMaxReadIncidentBytes).value();
    const auto read = incident_from_json(text);
    ASSERT_TRUE(read.has_value()) << entry.path() << ": " << read.error().message;
    const nlohmann::json again = nlohmann::json::parse(to_json(*read)).flatten(),
                         written = nlohmann::json::parse(text).flatten();
    for (const auto& [pointer, value] : written.items()) {
      if (value.is_null()) continue;
      EXPECT_EQ(again.value(pointer, nlohmann::json()), value) << entry.path() << " " << pointer;
    }
    ++seen;
  }
  EXPECT_EQ(seen, 5);
}

TEST(IncidentJsonTest, a_verdict_keeps_its_limit_and_what_else_there_is) {
  const Incident read = *incident_from_json(to_json(sample_incident()));
  ASSERT_TRUE(read.verdict && read.verdict->suggested_limit);
  EXPECT_EQ(read.verdict->suggested_limit->bytes, 320u << 20);
  EXPECT_TRUE(read.verdict->suggested_limit->is_lower_bound);
  ASSERT_EQ(read.verdict->also.size(), 1u);
  EXPECT_EQ(read.verdict->also[0].cause, "leak");
}

}  // namespace
}  // namespace oomw
