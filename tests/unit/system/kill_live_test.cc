// SPDX-License-Identifier: Apache-2.0
// Real cgroups of our own on the machine's hierarchy: a real kill through the files alone.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>

#include "support/child_process.h"
#include "support/test_cgroup.h"
#include "system/file_events.h"
#include "system/sampler.h"
#include "unit/base/loop_fixture.h"

namespace oomw {
namespace {

constexpr std::uint64_t kLimit = 48u << 20;

class LiveFiles : public test::LoopFixture {
 protected:
  void SetUp() override {
    auto made = test::TestCgroup::make();
    if (!made.has_value()) GTEST_SKIP() << "no memory cgroup of our own: " << made.error().message;
    box = std::move(*made);
    box->set_limit(kLimit);
    auto probed = CgroupFs::probe();
    ASSERT_TRUE(probed.has_value());
    cgroups.emplace(std::move(*probed));
  }
  void make(FileEventsConfig config) {
    auto made = FileEvents::make(*loop, *cgroups, clock, std::move(config), [this](Event e) {
      events.push_back(std::move(e));
      if (is_enough && is_enough()) loop->stop();
    });
    ASSERT_TRUE(made.has_value()) << made.error().message;
    files = std::move(*made);
    files->on_event(CgroupCreated{clock.now(), box->id(), {}, box->path(), true});
    const auto sample = cgroups->sample(box->path(), box->id(), clock, false);
    ASSERT_TRUE(sample.has_value()) << sample.error().message;
    EXPECT_EQ(sample->limit_bytes, kLimit);
    files->on_event(*sample);
  }
  void run_until(std::function<bool()> enough) {
    is_enough = std::move(enough);
    run_for(std::chrono::seconds(30));
  }
  template <typename T>
  std::vector<T> ours() const {
    std::vector<T> found;
    for (const Event& e : events) {
      const auto* one = std::get_if<T>(&e);
      if (one != nullptr && cgroup_of(*one) == box->id()) found.push_back(*one);
    }
    return found;
  }
  static CgroupId cgroup_of(const OomKill& kill) { return kill.victim_cgroup; }
  template <typename T>
  static CgroupId cgroup_of(const T& event) {
    return event.cgroup;
  }

  SystemClock clock;
  std::unique_ptr<test::TestCgroup> box;
  std::optional<CgroupFs> cgroups;
  std::vector<Event> events;
  std::function<bool()> is_enough;
  std::unique_ptr<FileEvents> files;
};

int leak() {
  test::touch_memory(4 * kLimit, 256u << 10, 1'000);
  return 0;
}

TEST_F(LiveFiles, real_kill_is_read_from_the_kernel_log) {
  if (::access("/dev/kmsg", R_OK) != 0) GTEST_SKIP() << "/dev/kmsg cannot be read";
  make(FileEventsConfig{.kills = true});
  test::ChildProcess child(box.get(), leak);
  ProcessSeen seen;  // as the sampler would have delivered it: the log may be rate-limited by other tests' kills
  seen.process = child.key();
  seen.cgroup = box->id();
  files->on_event(seen);
  child.go();
  run_until([&] { return !ours<OomKill>().empty(); });
  const auto kills = ours<OomKill>();
  ASSERT_EQ(kills.size(), 1u);
  EXPECT_EQ(kills[0].victim.pid, child.pid());
  EXPECT_EQ(kills[0].owner_cgroup, box->id());
  EXPECT_TRUE(kills[0].owner_known);
  EXPECT_EQ(kills[0].owner_limit_bytes, kLimit);
  EXPECT_GT(kills[0].victim_rss->anon_bytes, kLimit / 2);
  EXPECT_EQ(box->oom_kills(), 1u);
}

TEST_F(LiveFiles, real_kill_without_the_log_raises_the_count) {
  make(FileEventsConfig{.kills = true, .kmsg_path = "/nonexistent/kmsg"});
  test::ChildProcess child(box.get(), leak);
  child.go();
  run_until([&] { return !ours<MemorySampled>().empty(); });
  ASSERT_FALSE(ours<MemorySampled>().empty());
  EXPECT_EQ(ours<MemorySampled>()[0].kernel_oom_kills, 1u);
}

// Comes close to the limit and stays: a kill right after the last level takes the usage away before a loaded machine
// lets the test read it. 99 %, because v1 looks at its thresholds once for 128 pages charged on a CPU, which is more
// than what lies between 95 and 96 %.
int fill() {
  test::touch_memory(kLimit / 100 * 99, 256u << 10, 1'000);
  ::pause();
  return 0;
}

TEST_F(LiveFiles, real_growth_crosses_the_watermarks_in_order) {
  make(FileEventsConfig{.watermarks = true});
  test::ChildProcess child(box.get(), fill);
  child.go();
  run_until([&] { return !ours<WatermarkCrossed>().empty() && ours<WatermarkCrossed>().back().level_percent == 95; });
  const auto crossings = ours<WatermarkCrossed>();
  ASSERT_FALSE(crossings.empty());
  std::uint32_t before = 0;
  for (const auto& crossing : crossings) {
    EXPECT_GT(crossing.level_percent, before);
    EXPECT_EQ(crossing.limit_bytes, kLimit);
    EXPECT_GE(crossing.usage_bytes, kLimit / 100 * crossing.level_percent);
    before = crossing.level_percent;
  }
  EXPECT_EQ(before, 95u);
}

TEST_F(LiveFiles, sampler_finds_the_process_and_its_cgroup) {
  SamplerConfig config;
  Sampler sampler(*loop, *cgroups, clock, config, [this](Event e) { events.push_back(std::move(e)); });
  test::ChildProcess child(box.get(), leak);
  sampler.rescan();
  EXPECT_EQ(sampler.path_of(box->id()), box->path());
  sampler.read_processes_now(box->id(), 10);
  const auto seen = ours<ProcessSeen>();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].process, child.key());
}

}  // namespace
}  // namespace oomw
