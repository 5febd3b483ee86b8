// SPDX-License-Identifier: Apache-2.0
#include "web/site/incident_list.h"

#include <cstdio>
#include <fstream>

#include <gtest/gtest.h>

#include "incident/incident.h"
#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

// A second passes each time that it is read: every budget is over at once.
class SlowMachine final : public Clock {
 public:
  [[nodiscard]] MonotonicTime now() const override { return MonotonicTime{} + std::chrono::seconds(++reads_); }
  [[nodiscard]] WallTime wall_now() const override { return {}; }

 private:
  mutable int reads_ = 0;
};

class IncidentListTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(directory / "incidents"); }

  static Incident incident(std::size_t number) {
    char text[32];
    Incident made;
    std::snprintf(text, sizeof text, "2026-11-24T12:%02zu:%02zuZ", number / 60 % 60, number % 60);
    made.time = *parse_rfc3339(text);
    std::snprintf(text, sizeof text, "20261124T12%02zu%02zuZ-%08zx", number / 60 % 60, number % 60, number);
    made.id = text;
    made.victims.emplace_back().comm = "cart";
    return made;
  }
  std::filesystem::path place(const Incident& made) const {
    const auto path = directory / "incidents" / (made.id.substr(0, 16) + "-x-" + made.id.substr(17));
    std::filesystem::create_directories(path);
    return path;
  }
  void write(const Incident& made) const { std::ofstream(place(made) / "incident.json") << to_json(made); }
  void write_with_summary(const Incident& made, const std::string& json) const {
    std::ofstream(place(made) / kSummaryFile) << to_summary_json(summary_of(made));
    std::ofstream(place(made) / "incident.json") << json;
  }

  SlowMachine slow;
  test::TemporaryDirectory temporary;
  const std::filesystem::path directory = temporary.path();
};

TEST_F(IncidentListTest, a_few_incidents_are_complete_on_a_machine_that_is_slow) {
  for (std::size_t i = 0; i < IncidentList::kLeastReads; ++i) write(incident(i));
  IncidentList list(directory, slow);
  ASSERT_TRUE(list.refresh().has_value());
  EXPECT_EQ(list.newest_first().size(), IncidentList::kLeastReads);
  EXPECT_EQ(list.unread(), 0u);
}

TEST_F(IncidentListTest, what_is_not_read_yet_is_counted_and_comes_with_the_next_calls) {
  constexpr std::size_t kIncidents = 2 * IncidentList::kLeastReads + 5;
  for (std::size_t i = 0; i < kIncidents; ++i) write(incident(i));
  IncidentList list(directory, slow);
  ASSERT_TRUE(list.refresh().has_value());
  EXPECT_EQ(list.unread(), kIncidents - IncidentList::kLeastReads);
  ASSERT_EQ(list.newest_first().size(), IncidentList::kLeastReads);
  EXPECT_EQ(list.newest_first().front()->id, incident(kIncidents - 1).id);
  ASSERT_TRUE(list.refresh().has_value());
  ASSERT_TRUE(list.refresh().has_value());
  EXPECT_EQ(list.unread(), 0u);
  EXPECT_EQ(list.newest_first().size(), kIncidents);
}

TEST_F(IncidentListTest, beyond_the_time_no_directory_is_looked_into) {
  for (std::size_t i = 0; i < IncidentList::kLeastReads; ++i) write(incident(i + 1));
  place(incident(0));  // the oldest, and nothing in it
  IncidentList list(directory, slow);
  ASSERT_TRUE(list.refresh().has_value());
  EXPECT_EQ(list.unread(), 1u);
  ASSERT_TRUE(list.refresh().has_value());
  EXPECT_EQ(list.unread(), 0u);
  EXPECT_EQ(list.newest_first().size(), IncidentList::kLeastReads);
}

TEST_F(IncidentListTest, a_summary_serves_without_a_look_into_the_incident) {
  write_with_summary(incident(1), "no JSON at all");
  IncidentList list(directory, slow);
  ASSERT_TRUE(list.refresh().has_value());
  ASSERT_EQ(list.newest_first().size(), 1u);
  EXPECT_EQ(list.newest_first().front()->victim, "cart");
}

TEST_F(IncidentListTest, a_summary_older_than_its_incident_does_not_serve) {
  Incident made = incident(1);
  write_with_summary(made, to_json(made));
  made.victims.front().comm = "amended";
  write(made);
  const auto json = place(made) / "incident.json";
  std::filesystem::last_write_time(json, std::filesystem::last_write_time(json) + std::chrono::seconds(10));
  IncidentList list(directory, slow);
  ASSERT_TRUE(list.refresh().has_value());
  ASSERT_EQ(list.newest_first().size(), 1u);
  EXPECT_EQ(list.newest_first().front()->victim, "amended");
}

TEST_F(IncidentListTest, an_incident_that_cannot_be_read_is_left_out_and_not_waited_for) {
  std::ofstream(place(incident(1)) / "incident.json") << "no JSON at all";
  write(incident(2));
  IncidentList list(directory, slow);
  ASSERT_TRUE(list.refresh().has_value());
  EXPECT_EQ(list.newest_first().size(), 1u);
  EXPECT_EQ(list.unread(), 0u);
}

}  // namespace
}  // namespace oomw
