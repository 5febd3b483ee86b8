// SPDX-License-Identifier: Apache-2.0
#include "kernel/catalog.h"

#include <gtest/gtest.h>

#include "kernel/ladder.h"

namespace oomw {
namespace {

SignatureOf always(HookSignature signature) {
  return [=](const std::string&) { return std::optional(signature); };
}

const FeatureSpec& find(const std::vector<FeatureSpec>& catalog, const std::string& feature) {
  for (const FeatureSpec& spec : catalog) {
    if (spec.feature == feature) return spec;
  }
  ADD_FAILURE() << "no feature " << feature;
  return catalog.front();
}

TEST(CatalogTest, oom_kill_is_loaded_first) { EXPECT_EQ(feature_catalog(always({})).front().feature, "oom_kill"); }

TEST(CatalogTest, mark_victim_with_a_task_gets_the_task_program) {
  auto catalog = feature_catalog(always({ParameterKind::kPointer, ParameterKind::kInteger}));
  EXPECT_EQ(find(catalog, "oom_kill").hooks.front().program, "on_mark_victim_task");
}

TEST(CatalogTest, mark_victim_with_a_pid_gets_the_pid_program_and_says_what_is_lost) {
  auto catalog = feature_catalog(always({ParameterKind::kInteger}));
  const FeatureSpec& spec = find(catalog, "oom_kill");
  EXPECT_EQ(spec.hooks.front().program, "on_mark_victim_pid");
  EXPECT_NE(spec.lost_by_tracepoint.find("pid only"), std::string::npos);
}

TEST(CatalogTest, reclaim_that_names_its_cgroup_loses_nothing) {
  auto exact = feature_catalog(always({ParameterKind::kInteger, ParameterKind::kPointer}));
  EXPECT_EQ(find(exact, "reclaim").lost_by_tracepoint, "");
  auto resolved = feature_catalog(always({ParameterKind::kInteger}));
  EXPECT_NE(find(resolved, "reclaim").lost_by_tracepoint, "");
}

TEST(CatalogTest, walk_at_the_kill_waits_for_the_exit_where_that_still_has_the_memory) {
  auto with_group_dead = feature_catalog(always({ParameterKind::kPointer, ParameterKind::kInteger}));
  EXPECT_EQ(find(with_group_dead, "heap_at_kill").hooks.front().tracepoint, "sched_process_exit");
  EXPECT_EQ(find(with_group_dead, "heap_at_kill").lost_by_tracepoint, "");
  auto without = feature_catalog(always({ParameterKind::kPointer}));
  EXPECT_EQ(find(without, "heap_at_kill").hooks.front().tracepoint, "signal_deliver");
  EXPECT_NE(find(without, "heap_at_kill").lost_by_tracepoint, "");
}

TEST(CatalogTest, walk_at_the_kill_has_no_files_to_fall_back_to) {
  auto catalog = feature_catalog(always({ParameterKind::kInteger}));
  const FeatureSpec& spec = find(catalog, "heap_at_kill");
  EXPECT_FALSE(spec.has_files);
  EXPECT_EQ(spec.needed_function, "bpf_loop");
  EXPECT_EQ(spec.hooks.back().program, "on_heap_victim_pid");
}

TEST(LadderTest, without_any_program_every_refused_rung_carries_the_reason) {
  auto catalog = feature_catalog([](const std::string&) { return std::optional<HookSignature>(); });
  for (const FeatureSpec& spec : catalog) {
    auto status = fall_to_files(spec, Rung::kFentry, "no /sys/kernel/btf/vmlinux");
    EXPECT_EQ(status.rung, spec.has_files ? Rung::kFiles : Rung::kNone);
    EXPECT_EQ(status.lost, spec.lost_by_files);
    EXPECT_NE(status.lost, "");
    ASSERT_EQ(status.refused.size(), 2u);
    EXPECT_EQ(status.refused.front().rung, Rung::kTpBtf);
    EXPECT_EQ(status.refused.back().reason, "no /sys/kernel/btf/vmlinux");
  }
}

TEST(LadderTest, feature_set_to_none_is_not_served_by_files) {
  auto catalog = feature_catalog([](const std::string&) { return std::optional<HookSignature>(); });
  EXPECT_EQ(fall_to_files(catalog.front(), Rung::kNone, "x").rung, Rung::kNone);
}

}  // namespace
}  // namespace oomw
