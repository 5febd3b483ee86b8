// SPDX-License-Identifier: Apache-2.0
#include "sinks/record_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class RecordFileTest : public ::testing::Test {
 protected:
  Delivery deliver(const std::string& path, std::uint64_t max_bytes = 1u << 20) {
    StoredIncident stored;
    stored.incident.id = "20261121T030405Z-1a2b3c4d";
    RecordFile file(
        path, max_bytes, [this](std::string line) { return printed_.push_back(line), is_read_; }, {}, clock_);
    return file.deliver(stored, 1);
  }
  std::string text(const std::string& name) { return read_file(directory_ / name, 1u << 20).value_or(""); }

  test::TemporaryDirectory directory_;
  SystemClock clock_;
  std::vector<std::string> printed_;
  bool is_read_ = true;
};

TEST_F(RecordFileTest, lines_are_appended) {
  EXPECT_EQ(deliver(directory_ / "a").outcome, Delivery::Outcome::kSent);
  EXPECT_EQ(deliver(directory_ / "a").outcome, Delivery::Outcome::kSent);
  const std::string whole = text("a");
  const auto lines = split(whole, '\n');
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(std::string(lines[1]), StartsWith("{\"resourceLogs\""));
  EXPECT_EQ(lines[2], "");
}

TEST_F(RecordFileTest, a_line_that_was_cut_off_does_not_take_the_next_one_with_it) {
  ASSERT_TRUE(write_file_atomic(directory_ / "a", "{\"resou").has_value());
  EXPECT_EQ(deliver(directory_ / "a").outcome, Delivery::Outcome::kSent);
  EXPECT_THAT(text("a"), StartsWith("{\"resou\n{\"resourceLogs\""));
}

TEST_F(RecordFileTest, a_full_file_makes_room) {
  ASSERT_TRUE(write_file_atomic(directory_ / "a", std::string(1'000, 'x')).has_value());
  EXPECT_EQ(deliver(directory_ / "a", 1'200).outcome, Delivery::Outcome::kSent);
  EXPECT_EQ(text("a.1").size(), 1'000u);
  EXPECT_THAT(text("a"), StartsWith("{\"resourceLogs\""));
}

TEST_F(RecordFileTest, what_is_no_plain_file_is_left_alone) {
  ASSERT_EQ(::mkfifo((directory_ / "fifo").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("/etc/passwd", (directory_ / "link").c_str()), 0);
  for (const char* name : {"fifo", "link", "none/a"}) {
    EXPECT_EQ(deliver(directory_ / name).reason, DeliveryReason::kDisk) << name;
  }
}

TEST_F(RecordFileTest, a_dash_prints_and_a_line_that_was_dropped_comes_again) {
  EXPECT_EQ(deliver("-").outcome, Delivery::Outcome::kSent);
  ASSERT_EQ(printed_.size(), 1u);
  EXPECT_THAT(printed_[0], HasSubstr("20261121T030405Z-1a2b3c4d"));
  is_read_ = false;
  EXPECT_EQ(deliver("-").outcome, Delivery::Outcome::kRetry);
}

}  // namespace
}  // namespace oomw
