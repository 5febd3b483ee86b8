// SPDX-License-Identifier: Apache-2.0
#include "model/kill_ledger.h"

#include <gtest/gtest.h>

#include "unit/model/event_builders.h"

namespace oomw {
namespace {

using namespace test;

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

constexpr MonotonicTime after(Nanoseconds time) { return {time.count() + 1}; }
constexpr Nanoseconds kHour = std::chrono::hours(1);

KillLabels of_pod(const std::string& k8s_namespace, const std::string& pod) {
  return {k8s_namespace, pod, "c", "container"};
}

std::uint64_t sum_of(const KillLedger& ledger) {
  std::uint64_t sum = ledger.retired();
  for (const auto& [labels, count] : ledger.counts()) sum += count;
  return sum;
}

// One namespace has all sets that there are.
KillLedger full_ledger(const std::string& k8s_namespace) {
  KillLedger ledger;
  for (std::size_t i = 0; i < KillLedger::kMaxSets; ++i) {
    ledger.add(of_pod(k8s_namespace, std::to_string(i)), 1, after(std::chrono::milliseconds(i)));
  }
  return ledger;
}

TEST(KillLedgerTest, a_full_ledger_makes_room_for_a_namespace_with_less) {
  KillLedger ledger = full_ledger("evil");
  ledger.add(of_pod("bank", "ledger"), 1, after(kHour / 2));
  EXPECT_EQ(ledger.counts().at(of_pod("bank", "ledger")), 1u);
  EXPECT_FALSE(ledger.counts().contains(of_pod("evil", "0"))) << "the one not seen for longest";
  EXPECT_EQ(ledger.retired(), 1u);
  EXPECT_EQ(ledger.folded(), 0u);
  EXPECT_EQ(sum_of(ledger), KillLedger::kMaxSets + 1);
}

TEST(KillLedgerTest, a_full_ledger_makes_room_from_sets_that_no_scrape_needs) {
  KillLedger ledger = full_ledger("shop");
  ledger.add(of_pod("shop", "new-1"), 1, after(kHour / 2));
  EXPECT_FALSE(ledger.counts().contains(of_pod("shop", "new-1"))) << "the others may not have been scraped yet";
  EXPECT_EQ(ledger.folded(), 1u);
  ledger.add(of_pod("shop", "new-2"), 1, after(2 * kHour));
  EXPECT_TRUE(ledger.counts().contains(of_pod("shop", "new-2")));
  EXPECT_EQ(ledger.retired(), 1u);
}

TEST(KillLedgerTest, no_zero_is_shown_for_a_container_whose_kills_are_elsewhere) {
  KillLedger ledger = full_ledger("shop");
  EXPECT_TRUE(ledger.may_show_zero(of_pod("shop", "new")));
  ledger.add(of_pod("shop", "new"), 1, after(kHour / 2));
  EXPECT_FALSE(ledger.may_show_zero(of_pod("shop", "new"))) << "folded";
  ledger.add(of_pod("bank", "ledger"), 1, after(kHour / 2));
  EXPECT_FALSE(ledger.may_show_zero(of_pod("shop", "0"))) << "retired for another's sake";
  ledger.add(of_pod("shop", "new"), 1, after(3 * kHour));
  EXPECT_EQ(ledger.counts().at(of_pod("shop", "new")), 1u);
  EXPECT_TRUE(ledger.may_show_zero(of_pod("shop", "new")));
}

TEST(KillLedgerTest, no_zero_at_all_is_shown_when_too_many_are_hidden) {
  KillLedger ledger = full_ledger("shop");
  for (std::size_t i = 0; i <= KillLedger::kMaxHidden; ++i) ledger.add(of_pod("shop", "new-" + std::to_string(i)));
  EXPECT_FALSE(ledger.may_show_zero(of_pod("bank", "never-killed")));
}

TEST(KillLedgerTest, a_vanished_pods_set_stays_for_a_day_and_then_goes) {
  KillLedger ledger;
  ledger.add(of_pod("shop", "cart-1"), 3, after(kHour));
  ledger.add({"", "", "nginx.service", "container"}, 1, after(kHour));
  EXPECT_FALSE(ledger.refresh(after(24 * kHour), {}));
  EXPECT_TRUE(ledger.refresh(after(26 * kHour), {}));
  EXPECT_FALSE(ledger.counts().contains(of_pod("shop", "cart-1")));
  EXPECT_TRUE(ledger.counts().contains({"", "", "nginx.service", "container"})) << "a unit comes back";
  EXPECT_EQ(ledger.retired(), 3u);
  EXPECT_EQ(sum_of(ledger), 4u);
}

TEST(KillLedgerTest, a_living_containers_set_stays) {
  KillLedger ledger;
  ledger.add({"shop", "cart-1", "c", "pod"}, 3, after(kHour));
  EXPECT_FALSE(ledger.refresh(after(100 * kHour), {{"shop", "cart-1", "c", ""}}));
  EXPECT_FALSE(ledger.refresh(after(123 * kHour), {}));
  EXPECT_TRUE(ledger.refresh(after(125 * kHour), {}));
}

TEST(KillLedgerTest, ages_survive_a_restart_and_a_boot) {
  KillLedger ledger;
  ledger.restore(of_pod("shop", "cart-1"), 3, 20 * kHour);
  EXPECT_FALSE(ledger.refresh(after(1'000 * kHour), {})) << "the machine is up for long, the set is 20 h old";
  EXPECT_EQ(ledger.unseen(of_pod("shop", "cart-1")), 20 * kHour);
  EXPECT_TRUE(ledger.refresh(after(1'005 * kHour), {}));
}

TEST(KillLedgerTest, living_labels_are_those_of_containers_that_are_there) {
  MemoryModel model = pod_with_container();
  EXPECT_TRUE(living_labels(model).contains({"", "", "web", ""}));
  model.apply(removed(3, 100));
  model.apply(removed(2, 101));
  EXPECT_FALSE(living_labels(model).contains({"", "", "web", ""}));
}

}  // namespace
}  // namespace oomw
