// SPDX-License-Identifier: Apache-2.0
// Retention with its memory: across restarts, with incidents of others, while the clock jumps.
#include "store/incident_retention.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "store/incident_store.h"
#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kStart = 1'795'230'245;  // 2026-11-21T03:04:05Z
constexpr Nanoseconds kDay = std::chrono::hours(24);

class IncidentRetentionTest : public ::testing::Test {
 protected:
  // One a second.
  std::string write(const std::string& k8s_namespace, const std::string& pod) {
    Incident incident;
    ++seconds_;
    incident.time = {(kStart + seconds_) * kSecond};
    std::string second = to_rfc3339(incident.time).substr(0, 19);
    std::erase_if(second, [](char c) { return c == '-' || c == ':'; });
    char short_id[9];
    std::snprintf(short_id, sizeof(short_id), "%08x", static_cast<unsigned>(seconds_));
    incident.id = second + "Z-" + short_id;
    incident.scope = "container";
    incident.container.pod_namespace = k8s_namespace;
    incident.container.pod_name = pod;
    incident.container.name = "web";
    const auto written = store_->write(incident);
    if (!written) {
      ADD_FAILURE() << written.error().message;
      return "";
    }
    return written->directory.substr(store_->root().size() + 1);
  }
  Pruned prune(const Retention& retention, Nanoseconds wall = {}, Nanoseconds since_boot = {}) {
    const ClockReading now{{(kStart + seconds_) * kSecond + wall.count()}, kDay + since_boot, "b-1"};
    return store_->prune(retention, now).value();
  }
  void restart() { store_ = make_store(); }
  std::unique_ptr<IncidentStore> make_store() const {
    return std::make_unique<IncidentStore>(data_dir_, [](const auto&, const auto&) { return Result<>{}; });
  }
  std::vector<std::string> names() const { return list_directory(store_->root(), 1'000).value(); }
  RetentionState saved() const { return load_retention(data_dir_).value(); }

  test::TemporaryDirectory directory_;
  const std::string data_dir_ = directory_.path() + "/data";
  std::unique_ptr<IncidentStore> store_ = make_store();
  std::int64_t seconds_ = 0;
};

TEST_F(IncidentRetentionTest, a_crash_loop_loses_its_own_incidents_also_after_a_restart) {
  const std::string neighbour = write("bank", "ledger");
  for (int i = 0; i < 10; ++i) write("shop", "cart");
  restart();
  EXPECT_EQ(prune({.count = 5}).incidents.at(LossReason::kCount), 6u);
  EXPECT_THAT(names(), Contains(neighbour));
  EXPECT_EQ(names().size(), 5u);
}

TEST_F(IncidentRetentionTest, who_lost_what_is_remembered) {
  write("bank", "ledger");
  for (int i = 0; i < 10; ++i) write("shop", "cart");
  (void)prune({.count = 9});
  restart();
  (void)prune({.count = 5});
  EXPECT_EQ(saved().dropped.at("shop/cart/web").count, 6u);
  EXPECT_FALSE(saved().dropped.contains("bank/ledger/web"));
}

// The facts are in retention.json: a file that would make the incident another workload's is not read.
TEST_F(IncidentRetentionTest, a_restart_reads_no_incident_that_is_known) {
  const std::string name = write("bank", "ledger");
  write("shop", "cart");
  (void)prune({});
  const std::string json = store_->root() + "/" + name + "/incident.json";
  const auto time = fs::last_write_time(json);
  std::ofstream(json) << "not JSON";
  fs::last_write_time(json, time);
  restart();
  (void)prune({});
  EXPECT_EQ(saved().incidents.at(name).facts.workload, "bank/ledger/web");
}

TEST_F(IncidentRetentionTest, a_lost_or_broken_state_is_made_again_from_the_incidents) {
  const std::string neighbour = write("bank", "ledger");
  for (int i = 0; i < 10; ++i) write("shop", "cart");
  (void)prune({});
  std::ofstream(data_dir_ + "/retention.json") << "{";
  restart();
  EXPECT_EQ(prune({.count = 5}).dropped(), 6u);
  EXPECT_THAT(names(), Contains(neighbour));
}

TEST_F(IncidentRetentionTest, beyond_the_reads_of_one_call_nothing_is_dropped_before_all_is_known) {
  const std::string neighbour = write("bank", "ledger");
  write("shop", "cart");
  for (unsigned i = 0; i < IncidentRetention::kMaxReads; ++i) {
    char name[64];
    std::snprintf(name, sizeof(name), "20251121T030405Z-a-b-c-%08x", i);
    fs::create_directories(store_->root() + "/" + name);
    std::ofstream(store_->root() + "/" + name + "/incident.json") << "{}";
  }
  restart();
  const Pruned first = prune({.count = 2});
  EXPECT_EQ(first.dropped(), 0u);
  EXPECT_TRUE(first.is_more);
  EXPECT_EQ(prune({.count = 2}).dropped(), IncidentRetention::kMaxReads);
  EXPECT_THAT(names(), Contains(neighbour));
}

TEST_F(IncidentRetentionTest, a_clock_40_days_ahead_deletes_nothing) {
  for (int i = 0; i < 4; ++i) write("shop", "cart");
  (void)prune({});
  const Pruned jumped = prune({}, 40 * kDay, std::chrono::seconds(5));
  EXPECT_EQ(jumped.dropped(), 0u);
  EXPECT_TRUE(jumped.is_age_held);
  EXPECT_EQ(jumped.clock_jumps, 1u);
  EXPECT_EQ(prune({.count = 2}, 40 * kDay, std::chrono::seconds(6)).incidents.at(LossReason::kCount), 2u);
  EXPECT_EQ(prune({}, 40 * kDay, std::chrono::seconds(7)).clock_jumps, 0u) << "counted once";
}

TEST_F(IncidentRetentionTest, a_clock_that_jumped_while_no_daemon_ran_deletes_nothing) {
  for (int i = 0; i < 4; ++i) write("shop", "cart");
  (void)prune({});
  restart();
  EXPECT_EQ(prune({}, 40 * kDay, std::chrono::seconds(5)).dropped(), 0u);
}

TEST_F(IncidentRetentionTest, a_jump_between_the_first_start_and_the_first_pruning_deletes_nothing) {
  const ClockReading start{{kStart * kSecond}, kDay, "b-1"};
  store_->note_start(start);
  write("shop", "cart");
  seconds_ += 40 * 86'400;  // the next incident carries the new time
  write("shop", "cart");
  const Pruned pruned = prune({}, {}, std::chrono::seconds(5));
  EXPECT_EQ(pruned.dropped(), 0u);
  EXPECT_TRUE(pruned.is_age_held);
  EXPECT_EQ(pruned.clock_jumps, 1u);
}

TEST_F(IncidentRetentionTest, a_start_whose_clocks_agree_casts_no_doubt) {
  write("shop", "cart");
  store_->note_start({{(kStart + 31 * 86'400) * kSecond}, kDay, "b-1"});
  (void)prune({}, 31 * kDay, std::chrono::seconds(1));
  restart();
  store_->note_start({{(kStart + 32 * 86'400) * kSecond}, 2 * kDay, "b-1"});
  const Pruned pruned = prune({}, 32 * kDay, kDay + std::chrono::seconds(1));
  EXPECT_EQ(pruned.clock_jumps, 0u);
}

TEST_F(IncidentRetentionTest, age_counts_again_once_the_clock_was_steady_for_long) {
  for (int i = 0; i < 4; ++i) write("shop", "cart");
  (void)prune({});
  (void)prune({}, 40 * kDay, {});
  EXPECT_EQ(prune({}, 41 * kDay, kDay).incidents.at(LossReason::kAge), 4u);
}

TEST_F(IncidentRetentionTest, incidents_age_when_both_clocks_say_so) {
  for (int i = 0; i < 4; ++i) write("shop", "cart");
  (void)prune({});
  EXPECT_EQ(prune({}, 31 * kDay, 31 * kDay).incidents.at(LossReason::kAge), 4u);
}

TEST_F(IncidentRetentionTest, dropped_workloads_are_bounded_and_none_is_uncounted) {
  RetentionState state;
  for (unsigned i = 0; i < RetentionState::kMaxDroppedWorkloads + 10; ++i) {
    state.add_dropped({"evil", "evil/" + std::to_string(i), 0, {i * kSecond}});
  }
  EXPECT_EQ(state.dropped.size(), RetentionState::kMaxDroppedWorkloads);
  EXPECT_EQ(state.dropped_others, 10u);
}

}  // namespace
}  // namespace oomw
