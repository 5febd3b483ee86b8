// SPDX-License-Identifier: Apache-2.0
#include "store/incident_summary.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "store/incident_reader.h"
#include "store/incident_store.h"
#include "support/builders.h"
#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

namespace fs = std::filesystem;

// Each summary is one whole line, so equal lines are equal summaries.
std::string line_of(const Incident& incident) { return to_summary_json(summary_of(incident)); }

TEST(IncidentSummaryTest, its_json_when_read_again_is_the_same) {
  const std::string line = line_of(test::sample_incident());
  const auto back = summary_from_json(line);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(to_summary_json(*back), line);
  EXPECT_EQ(back->place, "shop/cart-7d9f/cart");
  EXPECT_EQ(back->victim, "cart");
  EXPECT_EQ(back->profiles, 2u);
}

TEST(IncidentSummaryTest, of_hostile_names_stays_within_its_bound) {
  Incident incident = test::sample_incident();
  const std::string bytes(5'000, '\x01');
  incident.container.name = incident.container.pod_name = incident.container.pod_namespace = bytes;
  incident.cgroup_path = bytes;
  incident.answer = IncidentAnswer{bytes, bytes, 1, AnswerCulprit{}, bytes};
  incident.answer->culprit->code = incident.answer->culprit->operation = incident.answer->culprit->claim = bytes;
  EXPECT_LE(line_of(incident).size(), kMaxSummaryBytes);
}

TEST(IncidentSummaryTest, from_json_when_damaged_is_an_error) {
  EXPECT_FALSE(summary_from_json("").has_value());
  EXPECT_FALSE(summary_from_json("{\"id\": 7}").has_value());
  EXPECT_FALSE(summary_from_json(line_of(test::sample_incident()).substr(0, 40)).has_value());
}

class SummariesTest : public ::testing::Test {
 protected:
  std::string write(const Incident& incident) { return store_.write(incident)->directory; }
  std::string cause_shown() const {
    const auto found = reader_.summaries();
    return found && found->size() == 1 ? found->front().cause : "not one";
  }

  test::TemporaryDirectory directory_;
  IncidentStore store_{directory_.path() + "/data", [](const EvidenceFile&, const std::string&) { return Result<>{}; }};
  IncidentReader reader_{directory_.path() + "/data"};
};

Incident with_cause(const std::string& cause) { return test::judged_as(cause); }

TEST_F(SummariesTest, are_read_without_incident_json) {
  const std::string path = write(with_cause("leak"));
  std::ofstream(path + "/incident.json") << "not JSON";
  EXPECT_EQ(cause_shown(), "leak");
}

TEST_F(SummariesTest, follow_a_revision) {
  (void)write(with_cause("leak"));
  (void)write(with_cause("spike"));
  EXPECT_EQ(cause_shown(), "spike");
}

TEST_F(SummariesTest, when_missing_damaged_or_of_another_incident_come_from_incident_json) {
  const std::string file = write(with_cause("leak")) + "/summary.json";
  fs::remove(file);
  EXPECT_EQ(cause_shown(), "leak");
  std::ofstream(file) << "{";
  EXPECT_EQ(cause_shown(), "leak");
  IncidentSummary other = summary_of(with_cause("spike"));
  other.id = "20261121T030405Z-ffffffff";
  std::ofstream(file) << to_summary_json(other);
  EXPECT_EQ(cause_shown(), "leak");
}

// As a version without summaries leaves it when it amends an incident.
TEST_F(SummariesTest, when_older_than_incident_json_are_not_believed) {
  const std::string path = write(with_cause("leak"));
  ASSERT_TRUE(write_file_atomic(path + "/incident.json", to_json(with_cause("spike"))).has_value());
  fs::last_write_time(path + "/summary.json", fs::last_write_time(path + "/incident.json") - std::chrono::hours(1));
  EXPECT_EQ(cause_shown(), "spike");
}

TEST_F(SummariesTest, are_no_way_to_a_file_elsewhere) {
  const std::string path = write(with_cause("leak"));
  const std::string outside = directory_.path() + "/outside.json";
  std::ofstream(outside) << line_of(with_cause("spike"));
  fs::remove(path + "/summary.json");
  fs::create_symlink(outside, path + "/summary.json");
  EXPECT_EQ(cause_shown(), "leak");
}

TEST_F(SummariesTest, when_limited_are_the_newest) {
  for (const char* id : {"20261121T030405Z-00000001", "20261121T030406Z-00000002", "20261121T030407Z-00000003"}) {
    Incident incident = with_cause("leak");
    incident.id = id;
    incident.time.ns += std::int64_t{id[23] - '1'} * 1'000'000'000;
    (void)write(incident);
  }
  const auto found = reader_.summaries({.limit = 2});
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ(found->at(0).id, "20261121T030407Z-00000003");
  EXPECT_EQ(found->at(1).id, "20261121T030406Z-00000002");
  EXPECT_EQ(reader_.summaries({.cause = "spike"})->size(), 0u);
}

TEST_F(SummariesTest, of_one_second_the_latest_is_that_of_the_later_time) {
  Incident incident = with_cause("leak");
  for (const char* id : {"20261121T030405Z-f0000001", "20261121T030405Z-00000002"}) {
    incident.id = id;
    (void)write(incident);
    incident.time.ns += 1;
  }
  EXPECT_EQ(reader_.get("latest")->incident.id, incident.id);
}

TEST_F(SummariesTest, get_takes_latest_any_unique_part_and_a_path_of_another_machine) {
  Incident incident = with_cause("leak");
  incident.id = "20261121T030405Z-41e732d7";
  const std::string first = write(incident);
  incident.id = "20261122T030405Z-00abcdef";
  (void)write(incident);
  EXPECT_EQ(reader_.get("latest")->incident.id, "20261122T030405Z-00abcdef");
  EXPECT_EQ(reader_.get("41e732d7")->incident.id, "20261121T030405Z-41e732d7");
  EXPECT_EQ(reader_.get(first + "/")->incident.id, "20261121T030405Z-41e732d7");
  EXPECT_EQ(reader_.get(first + "/incident.json")->incident.id, "20261121T030405Z-41e732d7");
  EXPECT_EQ(reader_.get("/elsewhere/" + fs::path(first).filename().string())->incident.id, "20261121T030405Z-41e732d7");
  EXPECT_EQ(reader_.get("").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(reader_.get("/nowhere/at/all").error().code, ErrorCode::kNotFound);
  incident.id = "20261120T030405Z-00000042";
  incident.container.pod_name = "basket-0", incident.container.name = "web";
  (void)write(incident);
  EXPECT_EQ(reader_.get("shop/basket-0/web")->incident.id, "20261120T030405Z-00000042")
      << "the place, as lists show it";
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(reader_.get("cart")->incident.id, "20261122T030405Z-00abcdef") << "the newest of a crash loop";
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::HasSubstr("2 incidents have \"cart\" in their names; this is the newest, the one before is "
                                   "20261121T030405Z"));
}

}  // namespace
}  // namespace oomw
