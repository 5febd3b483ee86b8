// SPDX-License-Identifier: Apache-2.0
// Leaks that are judged by what filled the memory over time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/builders.h"
#include "verdict/answer.h"
#include "verdict/verdict.h"

namespace oomw {
namespace {

using test::python_incident;
using ::testing::HasSubstr;
using ::testing::Not;

// Read over twelve minutes: the list with its rows, and the rows by type.
IncidentTrend grown_list(const std::string& judgement) {
  IncidentTrend trend;
  trend.of = "cpython";
  trend.suspects = judgement == "leak" ? 2 : 0;
  for (const std::int64_t before_ms : {720'000, 400'000, 200'000, 60'000, 0}) {
    IncidentTrend::Point& point = trend.points.emplace_back();
    point.time = test::before_kill(before_ms);
    point.is_baseline = trend.points.size() == 1;
  }
  const auto site = [&](std::vector<std::string> frames, std::uint64_t first, std::uint64_t last) {
    TrendSite& made = trend.sites.emplace_back();
    made.frames = std::move(frames);
    made.figures.judgement = judgement;
    made.figures.readings = 5;
    made.figures.growth_share = 1;
    made.figures.first_held_bytes = first << 20;
    made.figures.last_held_bytes = last << 20;
  };
  site({"dict"}, 10, 80);
  site({"list of dict", "held as `LOG` in module `app`"}, 3, 70);
  site({"str"}, 1, 5);
  trend.whole.first_held_bytes = 20u << 20;
  trend.whole.last_held_bytes = 94u << 20;
  return trend;
}

TEST(ContentsLeak, what_was_read_over_time_says_from_what_to_what_it_grew) {
  Incident incident = python_incident("leak");
  incident.contents_trend = grown_list("not_called");
  EXPECT_THAT(answer_of(incident).sentence,
              HasSubstr(" In 5 readings over 720 s, list of dict, held as `LOG` in module `app` grew from 3.00 MiB to "
                        "70.0 MiB."));
  incident.contents_trend->sites[1].frames = {"shop::Session"};
  incident.contents_trend->sites[0].frames = {"blocks of 528 B"};
  EXPECT_THAT(answer_of(incident).sentence, HasSubstr(" shop::Session grew from 3.00 MiB to 70.0 MiB."));
  incident.contents_trend->whole.last_held_bytes = 300u << 20;
  EXPECT_THAT(answer_of(incident).sentence, Not(HasSubstr("grew from"))) << "most of the growth is something else";
  incident.contents_trend = grown_list("leak");
  incident.verdict->cause = "pod_limit";
  EXPECT_THAT(answer_of(incident).sentence, Not(HasSubstr("grew from")));
}

TEST(ContentsLeak, a_name_that_keeps_growing_is_a_second_sign_of_a_leak_and_none_by_itself) {
  Incident incident = test::grown([](double s) { return 10 + 0.7 * s; }, 120);
  const auto judge = [](const Incident& of) { return judge_incident(of).value_or(IncidentVerdict{}); };
  const IncidentVerdict by_curve = judge(incident);
  ASSERT_EQ(by_curve.cause, "leak");
  incident.contents_trend = grown_list("not_called");
  EXPECT_EQ(judge(incident).confidence, by_curve.confidence);
  incident.contents_trend = grown_list("leak");
  EXPECT_GT(judge(incident).confidence, by_curve.confidence);
  EXPECT_THAT(judge(incident).why, ::testing::Contains(HasSubstr("held as `LOG` in module `app` keeps growing")));
  incident.series.clear();
  EXPECT_NE(judge(incident).cause, "leak");
}

// A program that gets no processor for a while, or no requests, stands still and goes on.
TEST(ContentsLeak, a_leak_that_stood_still_in_the_third_quarter_is_one_if_what_is_kept_went_on_growing) {
  Incident incident = test::grown([](double s) { return 8 + 4 * (s < 15 ? s : std::max(s - 8, 15.0)); }, 30);
  const auto cause = [&] { return judge_incident(incident).value_or(IncidentVerdict{}).cause; };
  EXPECT_NE(cause(), "leak");
  incident.contents_trend = grown_list("not_called");
  std::vector<IncidentTrend::Point>& points = incident.contents_trend->points;
  const auto read = [&](std::int64_t before_ms, std::uint64_t mebibytes) {
    IncidentTrend::Point& point = points.emplace_back();
    point.time = test::before_kill(before_ms);
    point.held_bytes = mebibytes << 20;
  };
  points.clear();
  read(18'000, 20);
  read(1'000, 94);
  EXPECT_EQ(cause(), "leak");
  EXPECT_THAT(judge_incident(incident)->why, ::testing::Contains(HasSubstr("rose in three quarters of the 30 s")));
  points.back().held_bytes = 20u << 20;
  EXPECT_NE(cause(), "leak") << "what came after the pause is something else";
  points.back().held_bytes = 94u << 20;
  points.back().time = test::before_kill(9'000);
  EXPECT_NE(cause(), "leak") << "nothing was read after it";
  points.back().time = test::before_kill(1'000);
  points.erase(points.begin());
  EXPECT_NE(cause(), "leak") << "nothing was read before it";
  read(500, 95);
  EXPECT_NE(cause(), "leak") << "nor by two readings after it";
  points.insert(points.begin(), points.front());
  points.front().time = test::before_kill(18'000);
  points.front().held_bytes = 20u << 20;
  ASSERT_EQ(cause(), "leak");
  incident.contents_trend->sites[1].figures.last_held_bytes = (3u << 20) + (9u << 20);
  incident.contents_trend->sites[0].figures.last_held_bytes = 11u << 20;
  incident.contents_trend->whole.last_held_bytes = 30u << 20;
  EXPECT_NE(cause(), "leak") << "less than a tenth of the limit has that name";
}

TEST(ContentsLeak, it_may_have_stood_still_in_the_last_quarter_if_the_same_code_touched_memory_before_and_after) {
  Incident incident = test::grown([](double s) { return 8 + 4 * (s < 20 ? s : std::max(s - 8, 20.0)); }, 30);
  incident.contents_trend = grown_list("not_called");
  const auto cause = [&] { return judge_incident(incident).value_or(IncidentVerdict{}).cause; };
  const auto sample = [&](double share, std::uint64_t late_mib, std::int64_t before_kill_ms) -> IncidentGrowth& {
    IncidentGrowth& growth = incident.growth.emplace();
    growth.slot_bytes = 256 << 10, growth.samples = 192, growth.grown_bytes = 48 << 20, growth.late_bytes = 8 << 20;
    growth.as_of = test::before_kill(before_kill_ms);
    growth.places = {{"log_in (app.py:7)", "", "", 48 << 20, share}};
    growth.places.front().late_bytes = late_mib << 20;
    growth.stacks = {{48 << 20, share, true, {"log_in (app.py:7)"}, "log_in (app.py:7)", "", "", late_mib << 20}};
    return growth;
  };
  sample(0.9, 7, 100);
  EXPECT_EQ(cause(), "leak");
  sample(0.9, 3, 100);
  EXPECT_NE(cause(), "leak") << "most of what came last is another's";
  sample(0.4, 7, 100);
  EXPECT_NE(cause(), "leak") << "others grew more";
  sample(0.9, 7, 9'000);
  EXPECT_NE(cause(), "leak") << "after the pause nothing was sampled";
  sample(0.9, 7, 100).lost = 192;
  EXPECT_NE(cause(), "leak") << "half of the samples were lost";
  sample(0.9, 7, 100).places.front().is_collector = true;
  EXPECT_NE(cause(), "leak") << "a collector works for others";
  sample(0.9, 7, 100).places.front().code.clear();
  EXPECT_NE(cause(), "leak") << "all that has no name is one place";
  incident.growth->stacks.front().code.clear();
  EXPECT_EQ(cause(), "leak") << "but one stack";
  incident.contents_trend->of = "v8";
  EXPECT_NE(cause(), "leak") << "dead objects grow, too";
  incident.contents_trend.reset();
  EXPECT_NE(cause(), "leak") << "nothing is known to have grown";
}

}  // namespace
}  // namespace oomw
