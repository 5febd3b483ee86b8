// SPDX-License-Identifier: Apache-2.0
#include "cli/read/announced.h"

#include <gtest/gtest.h>

namespace oomw::cli {
namespace {

using News = Announced::News;

Incident answered(const std::string& id, const std::string& cause, const std::string& code = "") {
  Incident incident;
  incident.id = id;
  if (!cause.empty()) incident.verdict = IncidentVerdict{cause, 0.5};
  incident.answer = IncidentAnswer{};
  if (!code.empty()) incident.answer->culprit.emplace().code = code;
  return incident;
}

TEST(Announced, an_incident_is_news_once_and_again_when_its_answer_changes) {
  Announced announced;
  EXPECT_EQ(announced.note(answered("1", "off_heap"), false), News::kFirst);
  EXPECT_EQ(announced.note(answered("1", "off_heap"), true), News::kNone);
  EXPECT_EQ(announced.note(answered("1", "leak"), true), News::kChanged) << "another cause";
  EXPECT_EQ(announced.note(answered("1", "leak", "main.put"), true), News::kChanged) << "somebody is named";
  EXPECT_EQ(announced.note(answered("1", "leak", "main.put"), true), News::kNone);
  EXPECT_EQ(announced.note(answered("1", "leak", "main.store"), true), News::kChanged) << "another one";
  EXPECT_EQ(announced.note(answered("1", ""), true), News::kChanged) << "nothing is known any more";
}

TEST(Announced, what_only_another_run_of_the_daemon_announced_is_no_news) {
  Announced announced;
  EXPECT_EQ(announced.note(answered("1", "leak"), true), News::kNone);
  EXPECT_EQ(announced.note(answered("1", "spike"), true), News::kNone);
}

TEST(Announced, those_that_were_announced_last_are_remembered) {
  Announced announced;
  for (std::size_t i = 0; i <= Announced::kMaxRemembered; ++i) {
    EXPECT_EQ(announced.note(answered(std::to_string(i), "leak"), false), News::kFirst);
  }
  EXPECT_EQ(announced.note(answered("0", "spike"), true), News::kNone);
  EXPECT_EQ(announced.note(answered("1", "spike"), true), News::kChanged);
}

TEST(Repeats, the_same_reason_of_the_same_process_is_said_once) {
  Repeats repeats;
  CaptureFinished capture;
  capture.process = {7, 1};
  EXPECT_FALSE(repeats.is_repeat(capture)) << "one that succeeded";
  EXPECT_FALSE(repeats.is_repeat(capture));
  capture.reason = CaptureReason::kNoEndpoint;
  EXPECT_FALSE(repeats.is_repeat(capture));
  EXPECT_TRUE(repeats.is_repeat(capture));
  capture.reason = CaptureReason::kTimeout;
  EXPECT_FALSE(repeats.is_repeat(capture));
  capture.process.pid = 8;
  EXPECT_FALSE(repeats.is_repeat(capture));
}

TEST(Repeats, a_burst_is_said_once_at_each_level) {
  Repeats repeats;
  WatermarkCrossed mark;
  EXPECT_FALSE(repeats.is_repeat(mark));
  EXPECT_FALSE(repeats.is_repeat(mark)) << "a level is crossed as often as it is";
  mark.reason = WatermarkReason::kTimeToLimit;
  for (const std::uint32_t level : {80, 85}) {
    mark.level_percent = level;
    EXPECT_FALSE(repeats.is_repeat(mark));
    EXPECT_TRUE(repeats.is_repeat(mark));
  }
  mark.time = mark.time + std::chrono::minutes(10);
  EXPECT_FALSE(repeats.is_repeat(mark)) << "another climb";
}

TEST(Repeats, growth_is_news_when_it_is_half_as_much_again) {
  Repeats repeats;
  GrowthProfile growth;
  std::vector<std::uint64_t> said;
  for (growth.grown_bytes = 10; growth.grown_bytes <= 40; growth.grown_bytes += 5) {
    if (!repeats.is_repeat(growth)) said.push_back(growth.grown_bytes);
  }
  EXPECT_EQ(said, (std::vector<std::uint64_t>{10, 20, 35}));
}

}  // namespace
}  // namespace oomw::cli
