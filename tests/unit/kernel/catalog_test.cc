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

TEST(CatalogTest, decision_ends_before_it_begins_and_the_mark_comes_last) {
  auto catalog = feature_catalog(always({ParameterKind::kPointer}));
  const auto& hooks = find(catalog, "oom_kill").fentry_hooks;
  ASSERT_EQ(hooks.size(), 3u);
  EXPECT_EQ(hooks[0].program, "on_oom_decided_fexit");
  EXPECT_EQ(hooks[1].program, "on_oom_decide_fentry");
  EXPECT_EQ(hooks[1].kind, HookKind::kFunction);
  EXPECT_EQ(hooks[2].program, "on_mark_victim_task");
  EXPECT_EQ(hooks[2].kind, HookKind::kTracepoint);
}

TEST(CatalogTest, mark_victim_with_a_pid_takes_the_task_from_the_function_that_marks) {
  auto catalog = feature_catalog(always({ParameterKind::kInteger}));
  const auto& hooks = find(catalog, "oom_kill").fentry_hooks;
  ASSERT_EQ(hooks.size(), 4u);
  EXPECT_EQ(hooks[2].name, "mark_oom_victim");
  EXPECT_EQ(hooks[3].program, "on_mark_victim_pid");
}

TEST(CatalogTest, fentry_is_a_rung_only_where_a_function_says_more) {
  for (const FeatureSpec& spec : feature_catalog(always({ParameterKind::kPointer}))) {
    bool has_fentry = spec.feature == "oom_kill" || spec.feature == "reclaim" || spec.feature == "watermark";
    EXPECT_EQ(program_rungs(spec).front(), has_fentry ? Rung::kFentry : Rung::kTpBtf) << spec.feature;
    EXPECT_EQ(program_rungs(spec).back(), Rung::kRawTp);
  }
}

TEST(CatalogTest, reclaim_that_names_its_cgroup_loses_nothing) {
  auto exact = feature_catalog(always({ParameterKind::kInteger, ParameterKind::kPointer}));
  EXPECT_EQ(find(exact, "reclaim").lost_by_tracepoint, "");
  auto resolved = feature_catalog(always({ParameterKind::kInteger}));
  EXPECT_NE(find(resolved, "reclaim").lost_by_tracepoint, "");
}

TEST(CatalogTest, walk_at_the_kill_waits_for_the_exit_where_that_still_has_the_memory) {
  auto with_group_dead = feature_catalog(always({ParameterKind::kPointer, ParameterKind::kInteger}));
  EXPECT_EQ(find(with_group_dead, "heap_at_kill").hooks.front().name, "sched_process_exit");
  EXPECT_EQ(find(with_group_dead, "heap_at_kill").hooks.front().perf_program, "on_heap_exit_perf");
  EXPECT_EQ(find(with_group_dead, "heap_at_kill").lost_by_tracepoint, "");
  auto without = feature_catalog(always({ParameterKind::kPointer}));
  EXPECT_EQ(find(without, "heap_at_kill").hooks.front().name, "signal_deliver");
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
    ASSERT_EQ(status.refused.size(), program_rungs(spec).size());
    EXPECT_EQ(status.refused.front().rung, program_rungs(spec).front());
    EXPECT_EQ(status.refused.back().reason, "no /sys/kernel/btf/vmlinux");
  }
}

TEST(LadderTest, feature_set_to_none_is_not_served_by_files) {
  auto catalog = feature_catalog([](const std::string&) { return std::optional<HookSignature>(); });
  EXPECT_EQ(fall_to_files(catalog.front(), Rung::kNone, "x").rung, Rung::kNone);
}

}  // namespace
}  // namespace oomw
