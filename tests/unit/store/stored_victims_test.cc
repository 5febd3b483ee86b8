// SPDX-License-Identifier: Apache-2.0
#include "store/stored_victims.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "store/incident_store.h"
#include "unit/base/temporary_directory.h"
#include "unit/incident/sample_incident.h"

namespace oomw {
namespace {

class StoredVictimsTest : public ::testing::Test {
 protected:
  StoredVictimsTest() {
    IncidentStore store(directory_.path());
    const auto written =
        store.write(incident_, [](const IncidentCapture&, const std::string&) -> Result<> { return {}; });
    EXPECT_TRUE(written.has_value());
  }
  [[nodiscard]] WallTime at(std::int64_t seconds) const { return {incident_.time.ns + seconds * 1'000'000'000}; }
  [[nodiscard]] bool is_found(std::int32_t pid, WallTime time) const {
    return is_stored(pid, time, stored_victims_near(directory_.path(), {time}));
  }
  test::TemporaryDirectory directory_;
  const Incident incident_ = testing::bare_incident();
  const std::int32_t pid_ = incident_.victims.front().process.pid;
};

TEST_F(StoredVictimsTest, a_victim_is_found_by_pid_and_time) {
  EXPECT_TRUE(is_found(pid_, at(0)));
  EXPECT_TRUE(is_found(pid_, at(20))) << "a group kill goes on";
  EXPECT_FALSE(is_found(pid_ + 1, at(0)));
  EXPECT_FALSE(is_found(pid_, at(100)));
  EXPECT_FALSE(is_found(pid_, at(-100)));
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
