// SPDX-License-Identifier: Apache-2.0
#include "pprof/flame_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pprof/diff.h"
#include "unit/pprof/sample_profile.h"

namespace oomw::pprof {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "depth name net/size@start" of each frame.
std::vector<std::string> outline(const FlameTree& tree) {
  std::vector<std::string> lines;
  for (const FlameFrame& f : tree.frames()) {
    std::string name = "all";
    if (f.kind == FlameFrame::Kind::kFunction) name = tree.name(f);
    if (f.kind == FlameFrame::Kind::kMore) name = "+" + std::to_string(f.folded);
    if (f.kind == FlameFrame::Kind::kDeeper) name = "deeper";
    lines.push_back(std::to_string(f.depth) + " " + name + " " + std::to_string(f.net) + "/" + std::to_string(f.size) +
                    "@" + std::to_string(f.start));
  }
  return lines;
}

// One function for each of the sizes, without a caller.
Profile flat_profile(const std::vector<std::int64_t>& sizes) {
  Profile p;
  p.sample_types = {{"inuse_space", "bytes"}};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    p.functions.push_back({i + 1, "f" + std::to_string(i), "", "", 0});
    p.locations.push_back({i + 1, 0, i, {{i + 1, 1}}});
    p.samples.push_back({{i + 1}, {sizes[i]}, {}});
  }
  return p;
}

TEST(FlameTree, stacks_become_one_tree_with_the_larger_sibling_first) {
  EXPECT_THAT(outline(FlameTree(sample_profile(), 1)),
              ElementsAre("0 all 150/150@0", "1 main.main 150/150@0", "2 main.serve 150/150@0", "3 main.leak 100/100@0",
                          "3 main.parse 50/50@100"));
}

TEST(FlameTree, in_a_diff_only_what_changed_takes_room) {
  Profile after = sample_profile();
  after.samples[0].values[1] = 130;
  after.samples[1].values[1] = 40;
  EXPECT_THAT(outline(FlameTree(diff(sample_profile(), after).value(), 1)),
              ElementsAre("0 all 20/40@0", "1 main.main 20/40@0", "2 main.serve 20/40@0", "3 main.leak 30/30@0",
                          "3 main.parse -10/10@30"));
}

TEST(FlameTree, equal_profiles_leave_nothing_to_draw) {
  EXPECT_THAT(FlameTree(diff(sample_profile(), sample_profile()).value(), 1).frames(), IsEmpty());
}

TEST(FlameTree, frames_below_the_least_ratio_are_folded_into_one_and_counted) {
  EXPECT_THAT(outline(FlameTree(flat_profile({80, 6, 7, 7}), 0, FlameLimits{.min_ratio = 0.1})),
              ElementsAre("0 all 100/100@0", "1 f0 80/80@0", "1 +3 20/20@80"));
}

TEST(FlameTree, folded_frames_too_small_together_are_not_drawn) {
  EXPECT_THAT(outline(FlameTree(flat_profile({97, 3}), 0, FlameLimits{.min_ratio = 0.1})),
              ElementsAre("0 all 100/100@0", "1 f0 97/97@0"));
}

TEST(FlameTree, calls_deeper_than_the_limit_are_one_frame) {
  EXPECT_THAT(outline(FlameTree(sample_profile(), 1, FlameLimits{.max_depth = 2})),
              ElementsAre("0 all 150/150@0", "1 main.main 150/150@0", "2 main.serve 150/150@0", "3 deeper 150/150@0"));
}

TEST(FlameTree, the_largest_frames_stay_when_there_are_too_many) {
  EXPECT_THAT(outline(FlameTree(flat_profile({1, 2, 3, 4}), 0, FlameLimits{.min_ratio = 0, .max_frames = 6})),
              ElementsAre("0 all 10/10@0", "1 f3 4/4@0", "1 f2 3/3@4", "1 +2 3/3@7"));
}

TEST(FlameTree, as_many_equal_frames_as_there_is_no_room_for_are_folded) {
  EXPECT_THAT(outline(FlameTree(flat_profile(std::vector<std::int64_t>(200, 5)), 0,
                                FlameLimits{.min_ratio = 0, .max_frames = 100})),
              ElementsAre("0 all 1000/1000@0", "1 +200 1000/1000@0"));
}

TEST(FlameTree, stacks_beyond_the_node_limit_are_cut_and_counted) {
  const FlameTree tree(flat_profile({1, 1, 1, 1}), 0, FlameLimits{.max_nodes = 3});
  EXPECT_EQ(tree.cut_stacks(), 2u);
  EXPECT_EQ(tree.frames().front().net, 4);
}

TEST(FlameTree, recursion_is_a_frame_each_time) {
  Profile p = sample_profile();
  p.samples = {{{3, 2, 2, 2, 1}, {1, 10}, {}}};
  EXPECT_EQ(FlameTree(p, 1).max_depth(), 5u);
}

}  // namespace
}  // namespace oomw::pprof
