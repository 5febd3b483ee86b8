// SPDX-License-Identifier: Apache-2.0
#include "verdict/again_answer.h"

#include <gtest/gtest.h>

#include "unit/incident/sample_answer.h"

namespace oomw {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// Names main.(*Cache).Put, 12 minutes after a kill whose culprit was `code`.
IncidentAnswer answer_after(const std::string& code, const std::string& claim = "allocates",
                            const std::string& operation = "", std::int64_t ago_ns = (12 * 60 + 5) * kSecond,
                            const std::string& code_now = "") {
  Incident incident;
  incident.time = WallTime{10'000 * kSecond};
  incident.answer = test::sample_answer();
  if (!code_now.empty()) incident.answer->culprit->code = code_now;
  EarlierKill& earlier = incident.earlier.emplace();
  earlier.kills = 3;
  earlier.id = "20261121T030405Z-1a2b3c4d";
  earlier.time = WallTime{10'000 * kSecond - ago_ns};
  earlier.code = code;
  earlier.claim = claim;
  earlier.operation = operation;
  compare_with_earlier(incident);
  return *incident.answer;
}

TEST(AgainAnswer, the_same_code_is_the_same_culprit_whatever_line_it_stands_on) {
  const IncidentAnswer answer = answer_after("main.(*Cache).Put (cache.go:51)");
  EXPECT_EQ(answer.same_culprit, true);
  EXPECT_EQ(answer.again,
            "Killed again, 12 min after the kill before: kill 4 of this workload on record. The culprit is the same as "
            "then.");
}

TEST(AgainAnswer, the_same_holder_is_the_same_culprit_however_many_it_holds) {
  const auto same = [](const std::string& then, const std::string& now) {
    return answer_after(then, "fills", "", 100 * kSecond, now).same_culprit;
  };
  EXPECT_EQ(same("a dict of 9067 Order held as `by_id`", "a dict of 9140 Order held as `by_id`"), true);
  EXPECT_NE(same("a dict of 9067 Order held as `by_id`", "a dict of 9067 Order held as `old`"), true);
  EXPECT_NE(same("a dict of 9067 Order held as `by_id`", "a dict of 9067 Order2 held as `by_id`"), true);
}

TEST(AgainAnswer, two_decisions_at_once_are_not_0_s_apart) {
  for (const std::int64_t ago : {std::int64_t{0}, kSecond / 10}) {
    EXPECT_TRUE(answer_after("main.put", "allocates", "", ago)
                    .again.starts_with("Killed again, at the same moment as the kill before: kill 4 "));
  }
  EXPECT_TRUE(answer_after("main.put", "allocates", "", kSecond).again.starts_with("Killed again, 1 s after the kill"));
}

TEST(AgainAnswer, other_code_for_another_operation_is_another_culprit) {
  const IncidentAnswer answer = answer_after("main.keep (keep.go:9)", "allocates", "main.search");
  EXPECT_EQ(answer.same_culprit, false);
  EXPECT_TRUE(answer.again.ends_with("The culprit is another; then it was main.keep (keep.go:9).")) << answer.again;
}

// Who keeps it and who allocated it may be one story, and so may two functions of one endpoint.
TEST(AgainAnswer, what_cannot_be_compared_is_not) {
  for (const auto& answer :
       {answer_after("exporter otlp", "keeps"), answer_after("main.keep (keep.go:9)", "allocates", "main.report")}) {
    EXPECT_FALSE(answer.same_culprit.has_value());
    EXPECT_NE(answer.again.find(". Then "), std::string::npos) << answer.again;
  }
}

TEST(AgainAnswer, an_earlier_kill_without_a_culprit_says_so) {
  const IncidentAnswer answer = answer_after("");
  EXPECT_FALSE(answer.same_culprit.has_value());
  EXPECT_TRUE(answer.again.ends_with("Nobody was named then.")) << answer.again;
}

TEST(AgainAnswer, names_of_both_sides_are_cut_alike) {
  Incident incident;
  incident.answer = test::sample_answer();
  incident.answer->culprit->code = "main." + std::string(400, 'x');
  incident.earlier.emplace().code = incident.answer->culprit->code.substr(0, 160);
  incident.earlier->claim = "allocates";
  compare_with_earlier(incident);
  EXPECT_EQ(incident.answer->same_culprit, true);
}

TEST(AgainAnswer, the_first_kill_of_a_workload_says_nothing) {
  Incident incident;
  incident.answer = test::sample_answer();
  compare_with_earlier(incident);
  EXPECT_EQ(incident.answer->again, "");
  EXPECT_FALSE(incident.answer->same_culprit.has_value());
}

}  // namespace
}  // namespace oomw
