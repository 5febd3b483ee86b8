// SPDX-License-Identifier: Apache-2.0
// docs/incident.schema.json is generated from the description that writes and reads incident.json.
#include <algorithm>
#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "incident/incident_fields.h"
#include "support/builders.h"
#include "support/known_incidents.h"
#include "support/source_tree.h"
#include "unit/incident/json_schema.h"
#include "unit/incident/sample_answer.h"

namespace oomw {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Json incident_schema() {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "incident.json of oomwitness"},
                 {"description",
                  "One OOM kill. What is not known is null, with a line in notes; a member that is not required may "
                  "also be absent. Newer versions may add members."}};
  schema.update(test::JsonSchema<incident_json::Format>::schema_of<Incident>());
  schema["properties"]["schema_version"]["const"] = Incident::kSchemaVersion;
  return schema;
}

std::string schema_path() { return test::source_tree() + "/docs/incident.schema.json"; }

std::string fault_of(const std::string& text) {
  return test::schema_fault(Json::parse(text, nullptr, false), incident_schema());
}

// A golden of several incidents has one after the other.
Incident full_incident() {
  Incident incident = test::sample_incident();
  incident.pod.emplace().node = "node-1";
  incident.pod->owner_kind = incident.pod->owner_name = "x";
  incident.pod->workload = {"Deployment", "cart", "label"};
  incident.pod->last_termination = PodTermination{"c", "OOMKilled", 137, test::before_kill(900'000)};
  incident.pod->disagreement_kind = incident.pod->disagreement = "x";
  incident.pod->resource_attributes = {{"service.name", "cart"}};
  incident.victims.front().is_init = true;
  incident.victims.front().go = {50, 100u << 20};
  incident.oom_group = {7};
  incident.limit_shares = {{"cart", 5, {}}};
  incident.contents_trend = test::sample_trend();
  incident.contents_trend->of = "cpython";
  incident.repeats = RepeatedKills{3, test::before_kill(0), test::before_kill(-900)};
  IncidentCollector& collector = incident.collector.emplace();
  collector.components.emplace().push_back({"receiver", "otlp", "m", 900, 0.9});
  collector.components_file = "capture-01-http.pb.gz";
  collector.exporters = {{"otlp", 5, {}, -3}};
  collector.read_at = test::before_kill(500);
  incident.fillers.push_back({"cpython", "type", "dict", {}, "", "", 5, 0.5, "analysis", "LOG in app", 7, WallTime{1}});
  incident.analyses.push_back({"go", 4242, {1}, 0.1, 2, "watermark_80", "ok", "", "", {{"holders.json", ""}}});
  incident.analyses.back().jvm.emplace().heap_used_bytes = 5;
  incident.analyses.back().pools = PoolsAtKill{900, 64, 60, {{"dict", 800, 10, 60, 5}}, "time_limit"};
  incident.fillers.back().growth_ratio = 1.5;
  incident.fillers.back().error_bytes = 1;
  incident.analyses.back().sampled_ratio = 0.125;
  incident.holders.push_back({{0.9, 5, 40, true, "", {"global main.m"}}, 0.95, 60, 1.5});
  incident.goroutines.push_back({3, "waiting", {"main.f"}, "main.main", "exporter/otlp"});
  incident.goroutine_count = 3;
  incident.captures.front().goroutines.push_back({3, "waiting", "chan receive"});
  incident.captures.front().goroutines_cut = "time_limit";
  incident.earlier = EarlierKill{2, "20261121T020405Z-1a2b3c4d", {1}, "leak", "allocates", "main.put", "main.report"};
  incident.answer = test::sample_answer();
  incident.answer->again = "Killed again.";
  incident.answer->same_culprit = true;
  if (incident.answer->culprit) incident.answer->culprit->error_bytes = 1;
  IncidentGrowth& growth = incident.growth.emplace();
  growth.sampled_seconds = 12;
  growth.places = {{"f (a)", "", "", 8, 1, false, "", {}, {}, {1, 1, 1, 1, 1, 1, 1, 1}, "persistent"}};
  incident.composition = IncidentComposition{0.9, {1}, {{"Java heap", "jvm", 5, "hotspot"}}};
  return incident;
}

TEST(IncidentSchema, the_file_is_what_the_description_gives) {
  const std::string text = incident_schema().dump(2) + "\n";
  if (std::getenv("OOMW_UPDATE_GOLDEN") != nullptr) std::ofstream(schema_path(), std::ios::binary) << text;
  EXPECT_EQ(read_file(schema_path(), 1u << 20).value_or(""), text) << "run with OOMW_UPDATE_GOLDEN=1";
}

TEST(IncidentSchema, every_golden_incident_is_as_it_says) {
  for (const char* folder : {"tests/pipeline/golden", "tests/unit/incident/data"}) {
    const auto incidents = test::incidents_below(folder);
    EXPECT_GE(incidents.size(), 2u) << folder;
    for (const Json& incident : incidents) {
      EXPECT_EQ(test::schema_fault(incident, incident_schema()), "") << incident["id"];
    }
  }
}

TEST(IncidentSchema, so_are_incidents_that_know_everything_and_nothing) {
  EXPECT_EQ(fault_of(to_json(full_incident())), "");
  EXPECT_EQ(fault_of(to_json(test::bare_incident())), "");
}

TEST(IncidentSchema, what_is_not_as_it_says_is_found) {
  const auto fault_with = [](const char* pointer, const Json& value) {
    Json json = Json::parse(to_json(full_incident()));
    json[Json::json_pointer(pointer)] = value;
    return test::schema_fault(json, incident_schema());
  };
  EXPECT_THAT(fault_with("/schema_version", 2), StartsWith("incident.schema_version"));
  EXPECT_THAT(fault_with("/usage_bytes", -1), StartsWith("incident.usage_bytes"));
  EXPECT_THAT(fault_with("/captures/0/method", nullptr), StartsWith("incident.captures[0].method"));
  EXPECT_THAT(fault_with("/trend/points/0/live_bytes", "1"), HasSubstr("points[0].live_bytes"));
  EXPECT_THAT(fault_with("/lost/x", 0.5), StartsWith("incident.lost.x"));
  EXPECT_THAT(fault_with("/verdict/new", 1), HasSubstr("verdict.new"));
  EXPECT_EQ(fault_with("/usage_bytes", nullptr), "");
}

}  // namespace

namespace test {
namespace {

bool is_of_type(const Json& value, const std::string& type) {
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  if (type == "string") return value.is_string();
  if (type == "array") return value.is_array();
  return type == "object" ? value.is_object() : type == "null" && value.is_null();
}

std::string fault_of_member(const std::string& name, const Json& value, const Json& schema, const std::string& where) {
  if (schema.contains("properties") && schema["properties"].contains(name)) {
    return test::schema_fault(value, schema["properties"][name], where + "." + name);
  }
  if (!schema.contains("additionalProperties")) return where + "." + name + " is not described";
  return test::schema_fault(value, schema["additionalProperties"], where + "." + name);
}

std::string fault_of_object(const Json& value, const Json& schema, const std::string& where) {
  for (const auto& name : schema.value("required", Json::array())) {
    if (!value.contains(name.get<std::string>())) return where + "." + name.get<std::string>() + " is absent";
  }
  for (const auto& [name, member] : value.items()) {
    if (const std::string fault = fault_of_member(name, member, schema, where); !fault.empty()) return fault;
  }
  return "";
}

}  // namespace

std::string schema_fault(const Json& value, const Json& schema, const std::string& where) {
  const Json& type = schema["type"];
  const Json types = type.is_array() ? type : Json::array({type});
  const bool is_right = std::ranges::any_of(types, [&](const Json& t) { return is_of_type(value, t); });
  if (!is_right) return where + " is not of type " + type.dump();
  if (schema.contains("minimum") && value.is_number() && value < schema["minimum"]) return where + " is too small";
  if (schema.contains("const") && value != schema["const"]) return where + " is not " + schema["const"].dump();
  if (value.is_object()) return fault_of_object(value, schema, where);
  for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
    const std::string fault = schema_fault(value[i], schema["items"], where + "[" + std::to_string(i) + "]");
    if (!fault.empty()) return fault;
  }
  return "";
}

}  // namespace test
}  // namespace oomw
