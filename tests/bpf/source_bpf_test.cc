// SPDX-License-Identifier: Apache-2.0
// The loader and the pump themselves: independence, bounds, losses, start-up.
#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iostream>

#include "bpf/kernel_fixture.h"
#include "bpf/programs.h"
#include "kernel/kernel_btf.h"
#include "kernel/program_loader.h"
#include "kernel/settings.h"

namespace oomw::test {
namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

class SourceTest : public KernelTest {};

KernelConfig only(std::string_view feature) { return config_of_only({feature}); }

bool has_fentry_rung(const std::string& feature) {
  return feature == "oom_kill" || feature == "watermark" || feature == "reclaim";
}

// 5.10 has no bpf_loop.
bool refused_for_the_kernel(const FeatureStatus& status) {
  return !status.refused.empty() && status.refused.front().reason.find("in this kernel") != std::string::npos;
}

TEST_F(SourceTest, all_features_load_on_a_kernel_that_allows_one) {
  OOMW_LOAD_OR_SKIP(KernelConfig{}, "oom_kill");
  bool has_fentry = rung_of(*source_, "oom_kill") == Rung::kFentry;
  for (const FeatureStatus& status : source_->features()) {
    if (refused_for_the_kernel(status)) continue;
    bool is_fentry = has_fentry && has_fentry_rung(status.feature);
    EXPECT_EQ(status.rung, is_fentry ? Rung::kFentry : Rung::kTpBtf)
        << status.feature << ": " << (status.refused.empty() ? "" : status.refused.front().reason);
    EXPECT_EQ(status.refused.size(), has_fentry_rung(status.feature) && !is_fentry ? 1u : 0u) << status.feature;
  }
  EXPECT_EQ(source_->features().front().feature, "oom_kill");
}

TEST_F(SourceTest, feature_forced_down_says_what_is_lost_and_leaves_the_others) {
  KernelConfig config;
  config.forced["watermark"] = Rung::kFiles;
  config.forced["reclaim"] = Rung::kNone;
  OOMW_LOAD_OR_SKIP(config, "oom_kill");
  EXPECT_EQ(rung_of(*source_, "watermark"), Rung::kFiles);
  EXPECT_FALSE(source_->serves("watermark"));
  EXPECT_EQ(rung_of(*source_, "reclaim"), Rung::kNone);
  EXPECT_TRUE(source_->serves("oom_kill"));
  EXPECT_TRUE(source_->serves("process_lifecycle"));
  for (const FeatureStatus& status : source_->features()) {
    if (status.rung >= Rung::kFiles) {
      EXPECT_FALSE(status.lost.empty()) << status.feature;
      EXPECT_EQ(status.refused.size(), has_fentry_rung(status.feature) ? 3u : 2u) << status.feature;
    }
  }
}

// In force is what was asked for, else something below it with the reason.
TEST_F(SourceTest, every_feature_can_be_forced_to_every_rung) {
  OOMW_LOAD_OR_SKIP(only("oom_kill"), "oom_kill");
  for (Rung rung : {Rung::kFentry, Rung::kTpBtf, Rung::kRawTp, Rung::kFiles, Rung::kNone}) {
    KernelConfig config;
    for (const FeatureStatus& status : source_->features()) config.forced[status.feature] = rung;
    load(config);
    for (const FeatureStatus& status : source_->features()) {
      std::string name = status.feature + " at " + std::string(to_string(rung));
      EXPECT_GE(status.rung, rung) << name;
      bool has_rung = rung != Rung::kFentry || has_fentry_rung(status.feature);
      if (status.rung == rung || !has_rung || rung == Rung::kFiles) continue;
      EXPECT_NE(refusal_of(*source_, status.feature, rung), "") << name;
    }
  }
}

// This kernel's reclaim_end has no second argument, or has: the wrong fact is refused either way.
TEST_F(SourceTest, program_refused_gives_the_verifiers_word_and_the_next_one_loads) {
  OOMW_LOAD_OR_SKIP(only("reclaim"), "reclaim");
  auto kernel = KernelBtf::load();
  ASSERT_TRUE(kernel.has_value());
  oomw_kernel_facts facts = kernel->facts(1);
  if (facts.reclaim_end_has_memcg != 0) GTEST_SKIP() << "no hook with a missing argument on this kernel";
  facts.reclaim_end_has_memcg = 1;
  KernelConfig config;
  SharedMaps maps(make_map_entries(config));
  ProgramLoader loader(maps, make_settings(config), facts);

  auto refused_by_verifier = loader.load(ObjectFile::kReclaim, {"on_reclaim_begin_btf", "on_reclaim_end_btf"});
  ASSERT_FALSE(refused_by_verifier.has_value());
  const std::string& verdict = refused_by_verifier.error().error.message;
  EXPECT_EQ(verdict.find("verifier: invalid bpf_context access"), 0u) << verdict;
  EXPECT_EQ(refused_by_verifier.error().program, "on_reclaim_end_btf");
  auto refused_at_attach = loader.load(ObjectFile::kReclaim, {"on_reclaim_end_raw"});
  ASSERT_FALSE(refused_at_attach.has_value());
  EXPECT_NE(refused_at_attach.error().error.message.find("attach"), std::string::npos);
  EXPECT_EQ(refused_at_attach.error().program, "on_reclaim_end_raw");
  EXPECT_TRUE(loader.load(ObjectFile::kReclaim, {"on_reclaim_begin_btf"}).has_value());
  EXPECT_EQ(loader.load(ObjectFile::kOom, {"on_mark_victim_pid_raw", "on_nothing"}).error().program, "on_nothing");
  EXPECT_TRUE(loader.load(ObjectFile::kWatermark, {"on_rss_stat_raw"}).has_value());
}

int features_without_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (::syscall(SYS_capset, &header, none) != 0) return 10;
  auto source = KernelSource::make({});
  for (const FeatureStatus& status : source->features()) {
    Rung expected = status.feature == "heap_at_kill" ? Rung::kNone : Rung::kFiles;
    if (status.rung != expected || status.refused.size() != (has_fentry_rung(status.feature) ? 3u : 2u)) return 11;
    for (const RefusedRung& refused : status.refused) {
      if (refused.reason.find("needs CAP_BPF") == std::string::npos && !refused_for_the_kernel(status)) {
        std::cerr << refused.reason << "\n";
        return 12;
      }
    }
  }
  return source->ring_fd() == -1 ? 0 : 13;
}

TEST_F(SourceTest, process_without_capabilities_falls_to_files_and_names_them) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to have something to drop";
  ChildProcess child(nullptr, features_without_capabilities);
  child.go();
  int status = child.wait();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(SourceTest, full_ring_counts_every_cgroup_event_that_did_not_fit) {
  KernelConfig config = only("cgroup_lifecycle");
  config.ring_bytes = 4096;
  OOMW_LOAD_OR_SKIP(config, "cgroup_lifecycle");
  constexpr std::size_t kMade = 20;
  for (std::size_t i = 0; i < kMade; ++i) {
    auto child = cgroup_->make_child();
    ASSERT_TRUE(child.has_value()) << child.error().message;
  }
  collect();

  EXPECT_GT(lost(LostStage::kRingbufCgroup), 0u);
  EXPECT_LT(events_.size(), 2 * kMade);
  EXPECT_GE(events_.size() + lost(LostStage::kRingbufCgroup), 2 * kMade + 1);  // and cgroup_ itself
  EXPECT_EQ(lost(LostStage::kDecode), 0u);
}

TEST_F(SourceTest, drain_stops_at_its_bound_and_goes_on_where_it_stopped) {
  OOMW_LOAD_OR_SKIP(only("cgroup_lifecycle"), "cgroup_lifecycle");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(cgroup_->make_child().has_value());
  std::size_t seen = 0;
  auto count = [&seen](const Event&) { ++seen; };
  EXPECT_EQ(source_->drain(count, 1), 1u);
  EXPECT_EQ(source_->drain(count, 2), 2u);
  EXPECT_EQ(seen, 3u);
  pollfd wait{source_->ring_fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&wait, 1, 0), 1) << "the rest must wake the loop again";
  EXPECT_GE(source_->drain(count, 100), 4u);
}

// An exec and an exit do not wake the reader before its next reading by itself: whenever in that time they come, and
// though nothing comes after them.
TEST_F(SourceTest, records_that_come_in_silence_are_seen_without_another) {
  OOMW_LOAD_OR_SKIP(only("process_lifecycle"), "process_lifecycle");
  const auto run_true = [this] {
    ChildProcess child(cgroup_.get(), [] {
      ::execl("/bin/true", "true", nullptr);
      return 1;
    });
    child.go();
    EXPECT_EQ(child.wait(), 0);
    return child.pid();
  };
  // As the daemon's loop does: what comes is taken at once, until the time is over.
  const auto take_for = [this](std::chrono::milliseconds time) {
    const auto until = std::chrono::steady_clock::now() + time;
    pollfd wait{source_->ring_fd(), POLLIN, 0};
    for (auto left = time; left.count() > 0;
         left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now())) {
      if (::poll(&wait, 1, static_cast<int>(left.count())) <= 0) continue;
      source_->drain([this](Event event) { events_.push_back(std::move(event)); }, 256);
    }
  };
  for (int delay_ms = 1; delay_ms <= 30; delay_ms += 2) {
    run_true();
    take_for(std::chrono::milliseconds(delay_ms));
    const pid_t second = run_true();
    collect(std::chrono::milliseconds(200));
    const auto is_second = [second](const auto& event) { return event.process.pid == second; };
    EXPECT_EQ(events_where<ProcessExec>(is_second).size(), 1u) << delay_ms;
    EXPECT_EQ(events_where<ProcessExit>(is_second).size(), 1u) << delay_ms;
  }
}

TEST_F(SourceTest, more_limited_cgroups_than_entries_are_counted_as_lost) {
  KernelConfig config = only("watermark");
  config.max_cgroups = 1;
  OOMW_LOAD_OR_SKIP(config, "watermark");
  auto second = TestCgroup::make();
  ASSERT_TRUE(second.has_value());
  for (TestCgroup* cgroup : {cgroup_.get(), second->get()}) {
    cgroup->set_limit(mebibytes(32));
    ChildProcess child(cgroup, [] {
      touch_memory(mebibytes(8));
      return 0;
    });
    child.go();
    ASSERT_EQ(child.wait(), 0);
  }
  EXPECT_GT(lost(LostStage::kMemcgStates), 0u);
}

TEST_F(SourceTest, forgotten_cgroup_reports_its_levels_anew) {
  OOMW_LOAD_OR_SKIP(only("watermark"), "watermark");
  cgroup_->set_limit(mebibytes(32));
  auto grow = [] {
    touch_memory(mebibytes(18));
    return 0;
  };
  auto levels = [this] {
    return events_where<WatermarkCrossed>([this](const WatermarkCrossed& mark) {
             return mark.cgroup == cgroup_->id() && mark.reason == WatermarkReason::kLevel;
           })
        .size();
  };
  ChildProcess first(cgroup_.get(), grow);
  first.go();
  ASSERT_EQ(first.wait(), 0);
  collect();
  ASSERT_EQ(levels(), 1u);
  source_->forget(cgroup_->id());
  ChildProcess second(cgroup_.get(), grow);
  second.go();
  ASSERT_EQ(second.wait(), 0);
  collect();
  EXPECT_EQ(levels(), 2u);
}

TEST_F(SourceTest, run_time_stats_when_enabled_count_runs_of_each_program) {
  OOMW_LOAD_OR_SKIP(KernelConfig{}, "cgroup_lifecycle");
  auto enabled = source_->enable_run_time_stats();
  if (!enabled) GTEST_SKIP() << enabled.error().message;
  ASSERT_TRUE(cgroup_->make_child().has_value());

  std::vector<std::string> names;
  for (const ProgramStats& stats : source_->program_stats()) {
    names.push_back(stats.program);
    if (stats.program != "on_cgroup_mkdir_btf") continue;
    EXPECT_GT(stats.runs, 0u);
    EXPECT_GT(stats.run_ns, 0u);
  }
  bool has_fentry = rung_of(*source_, "oom_kill") == Rung::kFentry;
  EXPECT_TRUE(names.front().starts_with(has_fentry ? "on_oom_decided_" : "on_mark_victim_")) << names.front();
  EXPECT_GE(names.size(), 8u);
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// No assertion on time: the figure is printed for the reader.
TEST_F(SourceTest, start_up_is_measured_and_keeps_little_memory) {
  auto started = std::chrono::steady_clock::now();
  auto first_hook = KernelSource::make(only("oom_kill"));
  Milliseconds first_hook_ms = std::chrono::steady_clock::now() - started;
  if (auto refusal = refusal_of(*first_hook, "oom_kill"); !refusal.empty()) GTEST_SKIP() << refusal;
  first_hook.reset();
  std::size_t before = resident_bytes();
  started = std::chrono::steady_clock::now();
  load();
  Milliseconds all_ms = std::chrono::steady_clock::now() - started;
  std::size_t after = resident_bytes();
  std::cout << "first hook after " << first_hook_ms.count() << " ms, all after " << all_ms.count() << " ms, resident +"
            << (after > before ? (after - before) >> 10 : 0) << " KiB\n";
  EXPECT_LT(after, before + mebibytes(8));
}

}  // namespace
}  // namespace oomw::test
