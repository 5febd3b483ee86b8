// SPDX-License-Identifier: Apache-2.0
#include "system/usage_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>

#include "support/mib.h"
#include "unit/base/loop_fixture.h"
#include "unit/system/temp_tree.h"

namespace oomw {
namespace {

using test::kMiB;
using test::TempTree;
using test::V1Cgroup;

// cgroup.event_control is a FIFO: opening it hangs until the test reads from it, as the kernel makes
// its writer wait.
class V1UsageWatch : public test::LoopFixture {
 protected:
  V1UsageWatch() {
    V1Cgroup{.limit = "9223372036854771712"}.write(tree, "memory");
    cgroups.emplace(*CgroupFs::probe(tree.root()));
    watch = std::make_unique<UsageWatch>(*loop, *cgroups, clock, config, [this](Event event) {
      crossings.push_back(std::get<WatermarkCrossed>(event));
      loop->stop();
    });
  }
  CgroupId add(const std::string& name) {
    V1Cgroup{}.write(tree, "memory/" + name);
    const std::string control = tree.path("memory/" + name + "/cgroup.event_control");
    OOMW_CHECK(::mkfifo(control.c_str(), 0600) == 0);
    return {tree.inode("memory/" + name)};
  }
  // What the kernel would hear; lets the writers go on. Open until the watch is gone: two registrations of one cgroup
  // are two workers, and the one whose answer is not awaited may come to the FIFO after the test's last line.
  int hear(const std::string& name) {
    const std::string control = tree.path("memory/" + name + "/cgroup.event_control");
    return heard.emplace_back(::open(control.c_str(), O_RDONLY | O_CLOEXEC)).get();
  }

  TempTree tree;
  SystemClock clock;
  FileEventsConfig config;
  std::optional<CgroupFs> cgroups;
  std::vector<WatermarkCrossed> crossings;
  std::vector<UniqueFd> heard;
  std::unique_ptr<UsageWatch> watch;
};

TEST_F(V1UsageWatch, registration_that_takes_long_does_not_hold_up_the_core) {
  const CgroupId app = add("app");
  watch->watch(app, "/app", 120 * kMiB);  // would hang here
  EXPECT_EQ(watch->size(), 0u);
  const int control = hear("app");
  run();
  ASSERT_EQ(crossings.size(), 1u);
  EXPECT_EQ(crossings[0].cgroup, app);
  EXPECT_EQ(crossings[0].level_percent, 80u);  // 100 of 120 MiB
  EXPECT_EQ(watch->size(), 1u);
  std::array<char, 4'096> text{};
  const ssize_t n = ::read(control, text.data(), text.size());
  ASSERT_GT(n, 0);
  EXPECT_NE(std::string(text.data(), static_cast<std::size_t>(n)).find(std::to_string(120 * kMiB / 100 * 95)),
            std::string::npos);
}

TEST_F(V1UsageWatch, limit_that_changed_meanwhile_is_the_one_that_counts) {
  const CgroupId app = add("app");
  watch->watch(app, "/app", 120 * kMiB);
  watch->watch(app, "/app", 110 * kMiB);
  hear("app");
  run();
  ASSERT_EQ(crossings.size(), 1u);
  EXPECT_EQ(crossings[0].limit_bytes, 110 * kMiB);
  EXPECT_EQ(watch->size(), 1u);
}

TEST_F(V1UsageWatch, cgroup_that_went_meanwhile_is_not_watched) {
  const CgroupId gone = add("gone");
  const CgroupId app = add("app");
  watch->watch(gone, "/gone", 120 * kMiB);
  watch->unwatch(gone);
  hear("gone");
  watch->watch(app, "/app", 120 * kMiB);
  hear("app");
  run();
  ASSERT_EQ(crossings.size(), 1u);
  EXPECT_EQ(crossings[0].cgroup, app);
  EXPECT_EQ(watch->size(), 1u);
}

TEST_F(V1UsageWatch, those_under_way_count_against_the_bound) {
  watch.reset();
  config.max_watched = 1;
  watch = std::make_unique<UsageWatch>(*loop, *cgroups, clock, config, [](const Event&) {});
  watch->watch(add("app"), "/app", 120 * kMiB);
  watch->watch(add("other"), "/other", 120 * kMiB);
  EXPECT_EQ(watch->refused(), 1u);
  hear("app");
  watch.reset();
}

}  // namespace
}  // namespace oomw
