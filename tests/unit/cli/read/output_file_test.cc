// SPDX-License-Identifier: Apache-2.0
#include "cli/read/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/files.h"
#include "base/unique_fd.h"
#include "unit/base/temporary_directory.h"

namespace oomw::cli {
namespace {

namespace fs = std::filesystem;

class OutputFile : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  const test::TemporaryDirectory folder_;
};

TEST_F(OutputFile, a_regular_file_is_replaced) {
  ASSERT_TRUE(write_output(path("a"), "one").has_value());
  ASSERT_TRUE(write_output(path("a"), "two").has_value());
  EXPECT_EQ(read_file(path("a"), 100).value(), "two");
}

TEST_F(OutputFile, a_fifo_is_written_to_and_stays_one) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const UniqueFd reader(::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK));
  ASSERT_TRUE(write_output(path("pipe"), "svg").has_value());
  char bytes[8] = {};
  EXPECT_EQ(::read(reader.get(), bytes, sizeof(bytes)), 3);
  EXPECT_STREQ(bytes, "svg");
  EXPECT_EQ(fs::symlink_status(path("pipe")).type(), fs::file_type::fifo);
}

TEST_F(OutputFile, a_device_is_written_to_and_stays_one) {
  if (::mknod(path("null").c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) GTEST_SKIP() << "cannot make a device here";
  const UniqueFd probe(::open(path("null").c_str(), O_WRONLY));
  if (!probe.is_valid()) GTEST_SKIP() << "a device below /tmp cannot be opened here";
  EXPECT_TRUE(write_output(path("null"), "svg").has_value());
  EXPECT_EQ(fs::symlink_status(path("null")).type(), fs::file_type::character);
}

TEST_F(OutputFile, a_link_stays_one_and_its_file_is_replaced) {
  ASSERT_TRUE(write_output(path("file"), "old").has_value());
  fs::create_symlink(path("file"), path("link"));
  ASSERT_TRUE(write_output(path("link"), "new").has_value());
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("file"), 100).value(), "new");
}

TEST_F(OutputFile, a_directory_is_an_error) { EXPECT_FALSE(write_output(folder_.path(), "svg").has_value()); }

TEST_F(OutputFile, a_minus_is_stdout) {
  ::testing::internal::CaptureStdout();
  EXPECT_TRUE(write_output("-", "svg").has_value());
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "svg");
  EXPECT_EQ(message_stream("-"), stderr);
}

}  // namespace
}  // namespace oomw::cli
