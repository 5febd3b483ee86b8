// SPDX-License-Identifier: Apache-2.0
#include "model/kill_ledger.h"

#include <gtest/gtest.h>

#include "unit/model/event_builders.h"

namespace oomw {
namespace {

using namespace testing;

KillLabels labels_of(const OomKill& kill, const MemoryModel& model) {
  return oomw::labels_of(model.cgroup_of(kill), place_of_limit(kill, model).scope, model);
}

MemoryModel pod_with_container() {
  MemoryModel model;
  apply_all(model, {created(1, 0, "/pod"), created(2, 1, "/pod/c"), created(3, 2, "/pod/c/nested"),
                    identified(2, std::string(64, 'a'), "web")});
  return model;
}

TEST(LabelsTest, container_when_named_carries_name_and_pod) {
  MemoryModel model = pod_with_container();
  ContainerIdentified e = identified(2, std::string(64, 'a'), "web");
  e.identity.pod_namespace = "shop";
  e.identity.pod_name = "cart-1";
  model.apply(e);
  EXPECT_EQ(labels_of(killed(10, 5, 3, 2, 0), model), (KillLabels{"shop", "cart-1", "web", "container"}));
}

TEST(LabelsTest, a_pods_own_cgroup_and_a_sandbox_are_told_from_containers) {
  MemoryModel model = pod_with_container();
  ContainerIdentified own = identified(1, "", "");
  own.identity.pod_uid = "uid";
  own.identity.pod_name = "cart-1";
  model.apply(own);
  EXPECT_EQ(labels_of(killed(10, 5, 1, 1, 0), model), (KillLabels{"", "cart-1", "", "container"}));
  ContainerIdentified pause = identified(2, std::string(64, 'a'), "POD");  // CRI-O names it like a container
  pause.identity.is_sandbox = true;
  model.apply(pause);
  EXPECT_EQ(labels_of(killed(10, 5, 2, 2, 0), model).container, "_sandbox");
}

TEST(LabelsTest, container_when_nameless_never_shows_its_id) {
  MemoryModel model = pod_with_container();
  ContainerIdentified e = identified(2, std::string(64, 'b'), "");
  model.apply(e);
  EXPECT_EQ(labels_of(killed(10, 5, 3, 2, 0), model).container, "containerd");
}

TEST(LabelsTest, container_when_a_plain_cgroup_is_its_last_component) {
  MemoryModel model;
  model.apply(created(2, 1, "/a/batch"));
  EXPECT_EQ(labels_of(killed(10, 5, 2, 2, 0), model).container, "batch");
}

TEST(LabelsTest, container_when_nothing_is_known_says_so) {
  EXPECT_EQ(labels_of(killed(10, 5, 0, 0, 0), MemoryModel{}).container, "_unknown");
}

// The label set counts by whose limit it was; limit_scope_test.cc has the cases.
TEST(LabelsTest, scope_when_the_limit_is_the_pods_of_one_container_is_container) {
  MemoryModel model;
  apply_all(model, {created(1, 0, "/kubepods/pod1"), created(2, 1, "/kubepods/pod1/c"), identified_pod(1, "pod1"),
                    identified(2, std::string(64, 'a'), "web"), sampled(2, 0, 100, 256)});
  EXPECT_EQ(labels_of(killed(10, 5, 2, 1, 0), model).scope, "container");
}

TEST(KillLedgerTest, add_when_repeated_sums) {
  KillLedger ledger;
  ledger.add({"n", "p", "c", "container"});
  ledger.add({"n", "p", "c", "container"}, 4);
  EXPECT_EQ(ledger.counts().at({"n", "p", "c", "container"}), 5u);
}

TEST(KillLedgerTest, add_when_too_many_sets_folds_and_loses_nothing) {
  KillLedger ledger;
  for (std::size_t i = 0; i < KillLedger::kMaxSets + 50; ++i) ledger.add({"n", std::to_string(i), "c", "container"});
  std::uint64_t sum = 0;
  for (const auto& [labels, count] : ledger.counts()) sum += count;
  EXPECT_EQ(sum, KillLedger::kMaxSets + 50);
  EXPECT_EQ(ledger.folded(), 50u);
  EXPECT_EQ(ledger.counts().at({"", "", "_other", "container"}), 50u);
}

}  // namespace
}  // namespace oomw
