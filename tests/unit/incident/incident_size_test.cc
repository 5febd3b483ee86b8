// SPDX-License-Identifier: Apache-2.0
#include "incident/incident_size.h"

#include <gtest/gtest.h>

#include <functional>

#include "support/builders.h"
#include "support/known_incidents.h"

namespace oomw {
namespace {

void expect_near_its_json(const Incident& incident, const std::string& name) {
  const auto json = static_cast<double>(to_json(incident).size());
  const auto estimated = static_cast<double>(serialised_bytes(incident));
  EXPECT_GT(estimated, json * 0.93) << name;
  EXPECT_LT(estimated, json * 1.07) << name;
}

TEST(IncidentSize, every_golden_incident_is_estimated_to_a_fourteenth) {
  const auto golden = test::incidents_below("tests/pipeline/golden");
  EXPECT_GE(golden.size(), 10u);
  for (const auto& json : golden) expect_near_its_json(incident_from_json(json.dump()).value(), json["id"]);
  expect_near_its_json(test::sample_incident(), "sample");
}

TEST(IncidentSize, a_long_series_and_many_victims_are_estimated_as_well) {
  Incident incident = test::sample_incident();
  incident.series.resize(2'000, incident.series.front());
  incident.victims.resize(256, incident.victims.front());
  expect_near_its_json(incident, "long");
}

TEST(IncidentSize, a_text_counts_as_it_is_escaped) {
  Incident incident = test::sample_incident();
  for (const char* bytes : {"x", "\x01", "\xff", "\xc3\xa9", "\""}) {
    incident.victims.front().cmdline.clear();
    for (int i = 0; i < 100'000; ++i) incident.victims.front().cmdline += bytes;
    EXPECT_GE(serialised_bytes(incident) * 100 / to_json(incident).size(), 99u) << bytes;
  }
}

// Whoever chose it: a workload, a pod's author, a program's endpoint.
TEST(IncidentSize, no_text_is_left_out) {
  const std::string text(10'000, 'x');
  const std::vector<std::function<void(Incident&)>> changes = {
      [&](Incident& i) { i.container.id = text; },
      [&](Incident& i) { i.container.name = text; },
      [&](Incident& i) { i.container.image = text; },
      [&](Incident& i) { i.container.unit = text; },
      [&](Incident& i) { i.container.pod_name = text; },
      [&](Incident& i) { i.container.pod_namespace = text; },
      [&](Incident& i) { i.container.pod_uid = text; },
      [&](Incident& i) { i.container.labels["a"] = text; },
      [&](Incident& i) { i.pod.emplace().node = text; },
      [&](Incident& i) {
        i.pod.emplace().owner_kind = "ReplicaSet";
        i.pod->owner_name = text;
      },
      [&](Incident& i) { i.pod.emplace().disagreement = text; },
      [&](Incident& i) {
        i.pod.emplace().last_termination = PodTermination{text, "", {}, {}};
      },
      [&](Incident& i) { i.victims.front().exe = text; },
      [&](Incident& i) { i.victims.front().cgroup_path = text; },
      [&](Incident& i) { i.captures.front().detail = text; },
      [&](Incident& i) { i.captures.front().memstats[text] = 1; },
      [&](Incident& i) { i.collector.emplace().components.emplace(1).front().module = text; },
      [&](Incident& i) { i.collector.emplace().exporters.emplace(1).front().id = text; },
      [&](Incident& i) { i.trend.emplace().sites.emplace_back().frames = {text}; },
      [&](Incident& i) { i.verdict.emplace().why = {text}; },
      [&](Incident& i) { i.trigger_comm = text; },
      [&](Incident& i) { i.notes.push_back(text); }};
  const std::uint64_t before = serialised_bytes(test::sample_incident());
  for (std::size_t change = 0; change < changes.size(); ++change) {
    Incident incident = test::sample_incident();
    changes[change](incident);
    EXPECT_GE(serialised_bytes(incident) + 3'000, before + text.size()) << "change " << change;
  }
}

TEST(IncidentSize, what_fits_is_left_as_it_is) {
  Incident incident = test::sample_incident();
  bound_serialised(incident);
  EXPECT_EQ(to_json(incident), to_json(test::sample_incident()));
}

}  // namespace
}  // namespace oomw
