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

}  // namespace
}  // namespace oomw::cli
