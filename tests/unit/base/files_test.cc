// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

using test::TemporaryDirectory;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::vector<std::string> names_in(const std::string& path) { return list_directory(path, 100).value(); }

class FilesTest : public testing::Test {
 protected:
  void put(const std::string& name, std::string_view bytes) {
    ASSERT_TRUE(write_file_atomic(dir / name, bytes).has_value());
  }
  TemporaryDirectory dir;
};

TEST_F(FilesTest, read_returns_the_whole_file_up_to_the_limit) {
  const std::string bytes(10'000, 'x');
  put("f", bytes);
  EXPECT_EQ(read_file(dir / "f", 10'000), bytes);
  EXPECT_EQ(read_file(dir / "f", 9'999).error().code, ErrorCode::kLimit);
}

TEST_F(FilesTest, read_works_where_size_is_zero) {
  EXPECT_THAT(read_file("/proc/self/status", 1 << 16).value(), HasSubstr("Threads:"));
}

TEST_F(FilesTest, missing_file_is_not_found_and_named) {
  const auto result = read_file(dir / "none", 10);
  EXPECT_EQ(result.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(result.error().message, HasSubstr(dir / "none"));
}

TEST_F(FilesTest, prefix_of_a_longer_file_is_no_error) {
  put("f", "abcdef");
  const auto at = open_directory(dir.path());
  EXPECT_EQ(read_prefix_at(at->get(), "f", 3), "abc");
  EXPECT_EQ(read_prefix_at(at->get(), "f", 30), "abcdef");
}

TEST_F(FilesTest, fifo_in_place_of_a_file_does_not_hang) {
  ASSERT_EQ(mkfifo((dir / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(read_file(dir / "fifo", 10), "");
}

TEST_F(FilesTest, link_is_read_not_followed) {
  ASSERT_EQ(symlink("/no/such target", (dir / "l").c_str()), 0);
  EXPECT_EQ(read_link_at(AT_FDCWD, dir / "l"), "/no/such target");
  EXPECT_EQ(read_link_at(AT_FDCWD, dir / "none").error().code, ErrorCode::kNotFound);
}

TEST_F(FilesTest, listing_has_no_dots_and_a_limit) {
  put("a", "");
  put("b", "");
  EXPECT_THAT(list_directory(dir.path(), 2).value(), UnorderedElementsAre("a", "b"));
  EXPECT_EQ(list_directory(dir.path(), 1).error().code, ErrorCode::kLimit);
}

TEST_F(FilesTest, directories_are_made_with_their_parents_and_may_exist) {
  EXPECT_TRUE(make_directories(dir / "a/b/c", 0700).has_value());
  EXPECT_TRUE(make_directories(dir / "a/b/c/", 0700).has_value());
  EXPECT_TRUE(open_directory(dir / "a/b/c").has_value());
}

TEST_F(FilesTest, a_file_in_place_of_a_directory_is_an_error) {
  put("f", "");
  EXPECT_FALSE(make_directories(dir / "f", 0700).has_value());
  EXPECT_FALSE(make_directories(dir / "f/g", 0700).has_value());
}

TEST_F(FilesTest, atomic_write_replaces_and_leaves_nothing_else) {
  put("f", "old");
  put("f", "new");
  EXPECT_EQ(read_file(dir / "f", 10), "new");
  EXPECT_THAT(names_in(dir.path()), ElementsAre("f"));
}

TEST_F(FilesTest, atomic_write_sets_the_mode) {
  put("f", "private");
  struct stat status {};
  ASSERT_EQ(stat((dir / "f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(FilesTest, atomic_write_onto_a_directory_fails_without_a_leftover) {
  ASSERT_TRUE(make_directories(dir / "d", 0700).has_value());
  EXPECT_FALSE(write_file_atomic(dir / "d", "x").has_value());
  EXPECT_THAT(names_in(dir.path()), ElementsAre("d"));
}

// As root it would put a file in the place of /dev/stdout, or of the device behind it.
TEST_F(FilesTest, atomic_write_replaces_nothing_but_a_regular_file) {
  put("target", "untouched");
  ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);
  ASSERT_EQ(symlink((dir / "target").c_str(), (dir / "link").c_str()), 0);
  for (const char* name : {"pipe", "link"}) {
    const auto written = write_file_atomic(dir / name, "x");
    ASSERT_FALSE(written.has_value());
    EXPECT_EQ(written.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(written.error().message, HasSubstr("not a regular file"));
  }
  EXPECT_EQ(read_file(dir / "target", 20), "untouched");
  EXPECT_THAT(names_in(dir.path()), UnorderedElementsAre("target", "pipe", "link"));
}

TEST_F(FilesTest, atomic_write_steps_over_a_crashed_writers_leftover) {
  put("f.tmp-" + std::to_string(getpid()) + "-0", "half");
  put("f", "whole");
  EXPECT_EQ(read_file(dir / "f", 10), "whole");
}

TEST_F(FilesTest, atomic_write_never_follows_a_planted_link) {
  put("target", "untouched");
  ASSERT_EQ(symlink((dir / "target").c_str(), (dir / ("f.tmp-" + std::to_string(getpid()) + "-0")).c_str()), 0);
  put("f", "new");
  EXPECT_EQ(read_file(dir / "target", 20), "untouched");
}

TEST_F(FilesTest, flat_directory_is_removed_and_links_in_it_not_followed) {
  put("outside", "kept");
  ASSERT_TRUE(make_directories(dir / "d", 0700).has_value());
  put("d/f", "x");
  ASSERT_EQ(symlink((dir / "outside").c_str(), (dir / "d/link").c_str()), 0);
  EXPECT_TRUE(remove_flat_directory(dir / "d").has_value());
  EXPECT_THAT(names_in(dir.path()), ElementsAre("outside"));
}

TEST_F(FilesTest, directory_with_a_subdirectory_is_not_flat) {
  ASSERT_TRUE(make_directories(dir / "d/sub", 0700).has_value());
  EXPECT_FALSE(remove_flat_directory(dir / "d").has_value());
  EXPECT_TRUE(open_directory(dir / "d/sub").has_value());
}

TEST_F(FilesTest, a_link_to_a_directory_is_not_removed_through) {
  ASSERT_TRUE(make_directories(dir / "d", 0700).has_value());
  put("d/f", "x");
  ASSERT_EQ(symlink((dir / "d").c_str(), (dir / "link").c_str()), 0);
  EXPECT_FALSE(remove_flat_directory(dir / "link").has_value());
  EXPECT_EQ(read_file(dir / "d/f", 10), "x");
}

// A tmpfs of 64 KiB on the test's own directory; unmounted whatever the test does.
class SmallDisk {
 public:
  explicit SmallDisk(std::string path) : path_(std::move(path)) {
    is_mounted_ = mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=64k") == 0;
    error_ = errno;
  }
  ~SmallDisk() {
    if (is_mounted_) umount2(path_.c_str(), MNT_DETACH);
  }
  [[nodiscard]] bool is_mounted() const { return is_mounted_; }
  [[nodiscard]] std::string why() const { return std::strerror(error_); }

 private:
  std::string path_;
  bool is_mounted_ = false;
  int error_ = 0;
};

TEST_F(FilesTest, full_disk_keeps_the_old_file_and_leaves_no_temporary) {
  const SmallDisk disk(dir.path());
  if (!disk.is_mounted()) GTEST_SKIP() << "cannot mount a tmpfs (needs root): " << disk.why();
  put("f", "old");
  const auto written = write_file_atomic(dir / "f", std::string(1 << 20, 'x'));
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, ErrorCode::kNoSpace);
  EXPECT_EQ(read_file(dir / "f", 10), "old");
  EXPECT_THAT(names_in(dir.path()), ElementsAre("f"));
  put("f", "space came back");
}

}  // namespace
}  // namespace oomw
