// SPDX-License-Identifier: Apache-2.0
#include "web/site/flame_job.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace oomw {
namespace {

// main.main -> main.keep, and -> net/http.serve, in bytes.
pprof::Profile profile_of(std::int64_t keep, std::int64_t serve, const std::string& keep_name = "main.keep") {
  pprof::Profile profile;
  profile.sample_types = {{"inuse_space", "bytes"}};
  profile.period_type = {"space", "bytes"};
  const std::vector<std::string> names = {"main.main", keep_name, "net/http.serve"};
  for (std::uint64_t i = 0; i < names.size(); ++i) {
    profile.functions.push_back({i + 1, names[i], names[i], "x.go", 1});
    profile.locations.push_back({i + 1, 0, 0, {{i + 1, 1}}});
  }
  if (keep != 0) profile.samples.push_back({{2, 1}, {keep}, {}});
  if (serve != 0) profile.samples.push_back({{3, 1}, {serve}, {}});
  return profile;
}

nlohmann::json flame(const FlameQuestion& question, const pprof::Profile& after,
                     const pprof::Profile* before = nullptr) {
  const auto text = flame_json(question, after, before);
  EXPECT_TRUE(text.has_value()) << text.error().message;
  return nlohmann::json::parse(*text);
}

// Of the frame with this name; null: there is none.
nlohmann::json frame_of(const nlohmann::json& flame, const std::string& name) {
  for (const auto& frame : flame["frames"]) {
    if (frame[1] >= 0 && flame["names"][frame[1].get<std::size_t>()][0] == name) return frame;
  }
  return nullptr;
}

TEST(FlameJson, a_profile_is_a_tree_of_frames) {
  const nlohmann::json drawn = flame({}, profile_of(300, 100));
  EXPECT_EQ(drawn["total"], 400);
  EXPECT_EQ(drawn["unit"], "bytes");
  EXPECT_EQ(frame_of(drawn, "main.main")[3], 400);
  EXPECT_EQ(frame_of(drawn, "main.keep")[3], 300);
  EXPECT_EQ(frame_of(drawn, "main.keep")[0], 2);
}

TEST(FlameJson, by_package_joins_neighbours) {
  const nlohmann::json drawn = flame({"package", "held", ""}, profile_of(300, 100));
  EXPECT_EQ(frame_of(drawn, "main")[3], 400);
  EXPECT_EQ(frame_of(drawn, "net/http")[3], 100);
  EXPECT_TRUE(frame_of(drawn, "main.keep").is_null());
}

TEST(FlameJson, by_operation_follows_the_patterns_of_the_question) {
  FlameQuestion question{"operation", "held", ""};
  EXPECT_TRUE(frame_of(flame(question, profile_of(300, 100)), "job main.keep").is_null());
  question.patterns = OperationPatterns::make({"job main.main"}).value();
  EXPECT_EQ(frame_of(flame(question, profile_of(300, 100)), "job main.keep")[3], 300);
}

TEST(FlameJson, by_component_shows_what_has_none_as_such) {
  const nlohmann::json drawn = flame({"component", "held", ""}, profile_of(300, 100));
  EXPECT_EQ(frame_of(drawn, "(no component)")[3], 400);
}

TEST(FlameJson, growth_leaves_out_what_shrank) {
  const pprof::Profile before = profile_of(100, 200);
  const nlohmann::json grown = flame({"function", "growth", ""}, profile_of(300, 50), &before);
  EXPECT_EQ(frame_of(grown, "main.keep")[4], 200);
  EXPECT_TRUE(frame_of(grown, "net/http.serve").is_null());
  const nlohmann::json diff = flame({"function", "diff", ""}, profile_of(300, 50), &before);
  EXPECT_EQ(frame_of(diff, "net/http.serve")[4], -150);
  EXPECT_EQ(frame_of(diff, "main.main")[3], 350);
}

TEST(FlameJson, hostile_names_stay_text) {
  const nlohmann::json drawn = flame({}, profile_of(1, 0, "</script>\"\x1b[31m\xff"));
  EXPECT_FALSE(frame_of(drawn, "</script>\"\\x1b[31m\\xff").is_null());
}

TEST(FlameJson, what_cannot_be_asked_is_refused) {
  EXPECT_FALSE(check({"line", "held", ""}).has_value());
  EXPECT_FALSE(check({"function", "all", ""}).has_value());
  EXPECT_FALSE(flame_json({"function", "held", "nothing"}, profile_of(1, 1), nullptr).has_value());
}

}  // namespace
}  // namespace oomw
