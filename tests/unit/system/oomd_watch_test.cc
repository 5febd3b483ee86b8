// SPDX-License-Identifier: Apache-2.0
#include "system/oomd_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/xattr.h>

#include <optional>
#include <vector>

#include "unit/base/loop_fixture.h"
#include "unit/base/set_clock.h"
#include "unit/system/temp_tree.h"

namespace oomw {
namespace {

using test::SetClock;
using test::TempTree;
using test::V2Cgroup;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A directory tree stands in for cgroupfs: attributes and inotify are the same on both.
class OomdWatchTest : public test::LoopFixture {
 protected:
  OomdWatchTest() {
    tree.write("cgroup.controllers", "cpu memory\n");
    cgroups.emplace(*CgroupFs::probe(tree.root()));
    watch = *OomdWatch::make(*loop, *cgroups, clock, [this](const std::string& path) { killed.push_back(path); });
  }
  void SetUp() override {
    if (::setxattr(tree.root().c_str(), "user.oomw", "1", 1, 0) != 0) GTEST_SKIP() << "no user attributes in TMPDIR";
  }
  CgroupId add(const std::string& path) {
    V2Cgroup{}.write(tree, path.substr(1));
    const CgroupId id{tree.inode(path.substr(1))};
    watch->on_event(CgroupCreated{clock.now(), id, CgroupId{1}, path});
    return id;
  }
  void mark(const std::string& path, const std::string& count, const char* name = "user.oomd_ooms") {
    ASSERT_EQ(::setxattr((tree.root() + path).c_str(), name, count.data(), count.size(), 0), 0);
  }
  void run() { run_for(std::chrono::milliseconds(5)); }

  TempTree tree;
  SetClock clock;
  std::optional<CgroupFs> cgroups;
  std::vector<std::string> killed;
  std::unique_ptr<OomdWatch> watch;
};

TEST_F(OomdWatchTest, a_cgroup_that_systemd_oomd_marks_is_reported_once) {
  add("/system.slice");
  add("/system.slice/a.service");
  mark("/system.slice/a.service", "1");
  mark("/system.slice/a.service", "4", "user.oomd_kill");
  run();
  EXPECT_THAT(killed, ElementsAre("/system.slice/a.service"));
  EXPECT_EQ(watch->kills(), 1u);
}

TEST_F(OomdWatchTest, a_cgroup_that_lives_on_is_reported_for_each_kill) {
  add("/user.slice");
  mark("/user.slice", "1");
  run();
  mark("/user.slice", "2");
  run();
  EXPECT_THAT(killed, ElementsAre("/user.slice", "/user.slice"));
}

TEST_F(OomdWatchTest, other_attributes_and_rubbish_are_nothing) {
  add("/a.service");
  mark("/a.service", "1", "user.invocation_id");
  mark("/a.service", "many");
  mark("/a.service", "0");
  run();
  EXPECT_THAT(killed, IsEmpty());
}

TEST_F(OomdWatchTest, a_unit_that_is_made_again_is_told_from_the_one_before) {
  const CgroupId first = add("/a.service");
  mark("/a.service", "1");
  run();
  tree.remove("a.service");
  watch->on_event(CgroupRemoved{clock.now(), first});
  add("/a.service");
  mark("/a.service", "1");
  run();
  EXPECT_EQ(killed.size(), 2u);
}

TEST_F(OomdWatchTest, who_marks_a_cgroup_without_end_is_not_followed) {
  constexpr auto kMost = static_cast<std::size_t>(OomdWatch::kBurst);
  add("/hostile.slice");
  std::size_t count = 0;
  for (std::size_t i = 0; i < kMost + 10; ++i) {
    mark("/hostile.slice", std::to_string(++count));
    run();
  }
  EXPECT_EQ(killed.size(), kMost);
  clock.advance(std::chrono::seconds(1));
  mark("/hostile.slice", std::to_string(++count));
  run();
  EXPECT_EQ(killed.size(), kMost + 1);
}

}  // namespace
}  // namespace oomw
