// SPDX-License-Identifier: Apache-2.0
#include "store/stored_victims.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/files.h"
#include "store/incident_store.h"
#include "support/builders.h"
#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

Result<> place_nothing(const EvidenceFile&, const std::string&) { return {}; }

class StoredVictimsTest : public ::testing::Test {
 protected:
  StoredVictimsTest() {
    IncidentStore store(directory_.path(), place_nothing);
    EXPECT_TRUE(store.write(incident_).has_value());
  }
  [[nodiscard]] WallTime at(std::int64_t seconds) const { return {incident_.time.ns + seconds * 1'000'000'000}; }
  [[nodiscard]] bool is_found(std::int32_t pid, WallTime time) const {
    auto stored = stored_victims_near(directory_.path(), {time});
    return find_stored(pid, time, incident_.cgroup_path, stored) != nullptr;
  }
  test::TemporaryDirectory directory_;
  const Incident incident_ = test::bare_incident();
  const std::int32_t pid_ = incident_.victims.front().process.pid;
};

TEST_F(StoredVictimsTest, a_victim_is_found_by_pid_and_time) {
  EXPECT_TRUE(is_found(pid_, at(0)));
  EXPECT_TRUE(is_found(pid_, at(20))) << "a group kill goes on";
  EXPECT_FALSE(is_found(pid_ + 1, at(0)));
  EXPECT_FALSE(is_found(pid_, at(100)));
  EXPECT_FALSE(is_found(pid_, at(-100)));
}

TEST_F(StoredVictimsTest, a_victim_has_the_names_of_its_incident) {
  Incident named = incident_;
  named.id = "20261121T030405Z-00000001";
  named.cgroup_path = "/kubepods/pod1/c1";
  named.container.id = named.container.name = "c1";
  named.container.pod_namespace = "payments";
  named.container.pod_name = "cart-1";
  named.container.pod_uid = "1";
  IncidentStore store(directory_.path(), place_nothing);
  ASSERT_TRUE(store.write(named).has_value());
  const auto stored = stored_victims_near(directory_.path(), {at(0)});
  const auto found = std::ranges::find(stored, "/kubepods/pod1/c1", &StoredVictim::cgroup_path);
  ASSERT_NE(found, stored.end());
  EXPECT_EQ(found->container.id, "c1");
  EXPECT_EQ(found->container.pod_namespace, "payments");
  EXPECT_EQ(found->container.pod_name, "cart-1");
  EXPECT_EQ(found->container.pod_uid, "1");
  EXPECT_EQ(found->home,
            named.victims.front().cgroup_path.empty() ? "/kubepods/pod1/c1" : named.victims.front().cgroup_path);
}

// Its count rose, and the run ended before it heard of the victim; the kernel's log names it to the next one.
TEST_F(StoredVictimsTest, an_incident_without_a_name_stands_for_as_many_kills_as_it_counts) {
  Incident nameless = incident_;
  nameless.id = "20261121T030405Z-00000002";
  nameless.victims.clear();
  nameless.victim_count = 2;
  nameless.cgroup_path = "/shop/cart";
  IncidentStore store(directory_.path(), place_nothing);
  ASSERT_TRUE(store.write(nameless).has_value());
  auto stored = stored_victims_near(directory_.path(), {at(0)});
  const auto find = [&](std::int32_t pid, WallTime time, const std::string& home) {
    return find_stored(pid, time, home, stored);
  };
  EXPECT_EQ(find(17, at(0), "/shop/cart2"), nullptr);
  EXPECT_EQ(find(17, at(0), ""), nullptr);
  EXPECT_EQ(find(17, at(4), "/shop/cart"), nullptr) << "counted before";
  EXPECT_EQ(find(pid_, at(0), "/shop/cart")->pid, pid_) << "that one has its own";
  EXPECT_NE(find(17, at(0), "/shop/cart"), nullptr);
  EXPECT_NE(find(18, at(-1), "/shop/cart/worker"), nullptr);
  EXPECT_EQ(find(19, at(0), "/shop/cart"), nullptr) << "no third kill was counted";
}

TEST_F(StoredVictimsTest, an_incident_that_cannot_be_read_has_none) {
  const auto names = list_directory(directory_.path() + "/incidents", 10);
  ASSERT_EQ(names->size(), 1u);
  ASSERT_TRUE(
      write_file_atomic(directory_.path() + "/incidents/" + names->front() + "/incident.json", "{").has_value());
  EXPECT_FALSE(is_found(pid_, at(0)));
}

TEST_F(StoredVictimsTest, without_a_directory_or_a_time_there_is_none) {
  EXPECT_TRUE(stored_victims_near(directory_.path() + "/absent", {at(0)}).empty());
  EXPECT_TRUE(stored_victims_near(directory_.path(), {}).empty());
}

}  // namespace
}  // namespace oomw
