// SPDX-License-Identifier: Apache-2.0
#include "captures/spool.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "unit/base/temporary_directory.h"
#include "unit/pprof/sample_profile.h"

namespace oomw {
namespace {

namespace fs = std::filesystem;

class SpoolTest : public ::testing::Test {
 protected:
  void TearDown() override {
    if (is_mounted_) ::umount(root_.path().c_str());
  }
  // Returns why not, or "".
  std::string mount_tiny_disk() {
    if (::geteuid() != 0) return "needs root to mount a tmpfs";
    if (::mount("tmpfs", root_.path().c_str(), "tmpfs", 0, "size=64k") != 0)
      return std::string("mount: ") + strerror(errno);
    is_mounted_ = true;
    return "";
  }
  std::string directory() const { return root_ / "spool"; }
  std::size_t files_on_disk() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory()), fs::directory_iterator()));
  }

  const test::TemporaryDirectory root_;
  bool is_mounted_ = false;
};

TEST_F(SpoolTest, a_profile_is_on_disk_under_the_name_returned) {
  Spool spool(directory(), {});
  const auto name = spool.put(17, "http", "profile");
  ASSERT_TRUE(name.has_value()) << name.error().message;
  EXPECT_EQ(*name, "17-http.pb.gz");
  EXPECT_EQ(read_file(directory() + "/17-http.pb.gz", 100).value_or(""), "profile");
  EXPECT_EQ(spool.read(*name, 100).value_or(""), "profile");
}

TEST_F(SpoolTest, where_another_process_has_the_directory_nothing_of_it_is_touched) {
  Spool spool(directory(), {}, Spool::Start::kInMemory);
  const auto name = spool.put(17, "live", "profile");
  ASSERT_TRUE(name.has_value()) << name.error().message;
  EXPECT_FALSE(fs::exists(directory()));
  EXPECT_EQ(spool.read(*name, 100).value_or(""), "profile");
}

TEST_F(SpoolTest, what_was_kept_in_memory_reaches_the_disk_once_it_may) {
  ASSERT_TRUE(Spool(directory(), {}).put(17, "live", "the other's").has_value());
  Spool spool(directory(), {}, Spool::Start::kInMemory);
  const auto name = spool.put(17, "live", "ours");
  ASSERT_TRUE(name.has_value());
  EXPECT_NE(*name, "17-live.pb.gz") << "the other process may have that";
  spool.use_disk();
  ASSERT_TRUE(spool.put(18, "live", "newer").has_value());
  EXPECT_EQ(read_file(directory() + "/" + *name, 100).value_or(""), "ours");
  EXPECT_EQ(read_file(directory() + "/17-live.pb.gz", 100).value_or(""), "the other's");
  EXPECT_EQ(files_on_disk(), 3u);
}

TEST_F(SpoolTest, the_directory_is_for_the_owner_alone) {
  const Spool spool(directory(), {});
  struct stat info {};
  ASSERT_EQ(::stat(directory().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(SpoolTest, of_one_container_the_first_and_the_newest_stay_and_the_rest_is_counted) {
  Spool spool(directory(), {.files = 2});
  for (std::uint64_t id = 1; id <= 4; ++id) ASSERT_TRUE(spool.put(id, "http", "x").has_value());
  EXPECT_TRUE(fs::exists(directory() + "/1-http.pb.gz"));
  EXPECT_TRUE(fs::exists(directory() + "/4-http.pb.gz"));
  EXPECT_EQ(files_on_disk(), 2u);
  EXPECT_EQ(spool.dropped(), 2u);
}

TEST_F(SpoolTest, bytes_are_bounded_too_but_the_newest_stays) {
  Spool spool(directory(), {.bytes = 10});
  ASSERT_TRUE(spool.put(1, "http", "123456").has_value());
  ASSERT_TRUE(spool.put(2, "http", "a profile of more than ten bytes").has_value());
  EXPECT_EQ(files_on_disk(), 1u);
  EXPECT_TRUE(fs::exists(directory() + "/2-http.pb.gz"));
}

TEST_F(SpoolTest, four_containers_that_flood_the_spool_leave_the_neighbours_profiles_alone) {
  Spool spool(directory(), {.bytes = 10'000});
  ASSERT_TRUE(spool.put(1, "live", std::string(900, 'a'), {"neighbour", ""}).has_value());
  ASSERT_TRUE(spool.put(2, "live", std::string(900, 'b'), {"neighbour", ""}).has_value());
  for (std::uint64_t id = 3; id < 200; ++id) {
    const ShareOwner flooder{"flooder " + std::to_string(id % 4), ""};
    ASSERT_TRUE(spool.put(id, "http", std::string(1000, 'x'), flooder).has_value());
  }
  EXPECT_EQ(spool.read("1-live.pb.gz", 1000).value_or(""), std::string(900, 'a'));
  EXPECT_EQ(spool.read("2-live.pb.gz", 1000).value_or(""), std::string(900, 'b'));
  for (const int first : {3, 4, 5, 6, 196, 197, 198, 199}) {
    EXPECT_TRUE(fs::exists(directory() + "/" + std::to_string(first) + "-http.pb.gz")) << first;
  }
  EXPECT_EQ(spool.over_share().count, 197u - 8u);
  EXPECT_TRUE(spool.over_share().last.container.starts_with("flooder")) << spool.over_share().last.container;
}

TEST_F(SpoolTest, many_containers_of_one_namespace_pay_among_themselves) {
  Spool spool(directory(), {.files = 10});
  for (std::uint64_t id = 1; id <= 3; ++id) ASSERT_TRUE(spool.put(id, "live", "x", {"one", "quiet"}).has_value());
  for (std::uint64_t id = 10; id < 100; ++id) {
    ASSERT_TRUE(spool.put(id, "http", "x", {std::to_string(id), "noisy"}).has_value());
  }
  for (const int id : {1, 2, 3}) EXPECT_TRUE(fs::exists(directory() + "/" + std::to_string(id) + "-live.pb.gz")) << id;
}

TEST_F(SpoolTest, in_memory_too_a_container_over_its_share_loses_its_own) {
  Spool spool(directory(), {.memory_bytes = 4000}, Spool::Start::kInMemory);
  const auto neighbours = spool.put(1, "live", std::string(900, 'a'), {"neighbour", ""});
  for (std::uint64_t id = 2; id < 20; ++id) {
    ASSERT_TRUE(spool.put(id, "http", std::string(1000, 'x'), {"flooder", ""}).has_value());
  }
  EXPECT_TRUE(spool.read(*neighbours, 1000).has_value());
  EXPECT_FALSE(spool.put(20, "http", std::string(3900, 'x'), {"large", ""}).has_value());
  EXPECT_TRUE(spool.read(*neighbours, 1000).has_value());
}

TEST_F(SpoolTest, a_placed_profile_survives_pruning_and_is_not_counted_as_lost) {
  Spool spool(directory(), {.files = 1});
  const auto name = spool.put(1, "http", "evidence");
  ASSERT_TRUE(spool.place(*name, root_ / "capture-01.pb.gz").has_value());
  ASSERT_TRUE(spool.put(2, "http", "next").has_value());
  EXPECT_EQ(read_file(root_ / "capture-01.pb.gz", 100).value_or(""), "evidence");
  EXPECT_EQ(spool.dropped(), 0u);
}

TEST_F(SpoolTest, what_an_incident_has_goes_before_what_still_waits_for_its_own) {
  Spool spool(directory(), {.files = 2});
  const auto waiting = spool.put(1, "at_kill", "waits");
  const auto placed = spool.put(2, "at_kill", "placed");
  ASSERT_TRUE(spool.place(*placed, root_ / "capture-01.pb.gz").has_value());
  ASSERT_TRUE(spool.put(3, "at_kill", "next").has_value());
  EXPECT_EQ(spool.read(*waiting, 100).value_or(""), "waits");
  EXPECT_EQ(spool.dropped(), 0u);
}

TEST_F(SpoolTest, profiles_of_an_earlier_run_stay_and_keep_their_names) {
  { ASSERT_TRUE(Spool(directory(), {}).put(1, "http", "before").has_value()); }
  Spool spool(directory(), {});
  const auto name = spool.put(1, "http", "after");
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(*name, "1-http-1.pb.gz");
  EXPECT_EQ(spool.read("1-http.pb.gz", 100).value_or(""), "before");
}

TEST_F(SpoolTest, half_written_files_of_an_earlier_run_are_removed) {
  ASSERT_TRUE(make_directories(directory(), 0700).has_value());
  ASSERT_TRUE(write_file_atomic(directory() + "/1-http.pb.gz.tmp-9-1", "half").has_value());
  const Spool spool(directory(), {});
  EXPECT_EQ(files_on_disk(), 0u);
}

TEST_F(SpoolTest, names_that_leave_the_directory_are_refused) {
  Spool spool(directory(), {});
  EXPECT_EQ(spool.read("../secret", 100).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(spool.place("/etc/passwd", root_ / "x").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(spool.read("none.pb.gz", 100).error().code, ErrorCode::kNotFound);
}

TEST_F(SpoolTest, a_full_disk_leaves_the_first_and_the_newest_profile_in_memory) {
  if (const std::string why = mount_tiny_disk(); !why.empty()) GTEST_SKIP() << why;
  Spool spool(directory(), {.memory_bytes = 250'000});
  for (std::uint64_t id = 1; id <= 3; ++id) {
    ASSERT_TRUE(spool.put(id, "http", std::string(100'000, static_cast<char>('a' + id))).has_value());
  }
  EXPECT_TRUE(spool.is_disk_refused());
  EXPECT_EQ(spool.dropped(), 1u);
  EXPECT_FALSE(spool.read("2-http.pb.gz", 1u << 20).has_value());
  EXPECT_EQ(spool.read("3-http.pb.gz", 1u << 20).value_or(""), std::string(100'000, 'd'));
  EXPECT_EQ(files_on_disk(), 0u);  // no temporary file left behind
}

TEST_F(SpoolTest, a_profile_too_large_for_memory_is_lost_and_counted) {
  if (const std::string why = mount_tiny_disk(); !why.empty()) GTEST_SKIP() << why;
  Spool spool(directory(), {.memory_bytes = 1000});
  EXPECT_EQ(spool.put(1, "http", std::string(100'000, 'x')).error().code, ErrorCode::kNoSpace);
  EXPECT_EQ(spool.dropped(), 1u);
}

TEST_F(SpoolTest, what_is_in_memory_goes_to_disk_when_space_returns) {
  if (const std::string why = mount_tiny_disk(); !why.empty()) GTEST_SKIP() << why;
  Spool spool(directory(), {});
  ASSERT_TRUE(write_file_atomic(root_ / "filler", std::string(50'000, 'f')).has_value());
  ASSERT_TRUE(spool.put(1, "http", std::string(20'000, 'x')).has_value());
  EXPECT_TRUE(spool.is_disk_refused());
  fs::remove(root_ / "filler");
  ASSERT_TRUE(spool.put(2, "http", "small").has_value());
  EXPECT_FALSE(spool.is_disk_refused());
  EXPECT_EQ(read_file(directory() + "/1-http.pb.gz", 1u << 20).value_or(""), std::string(20'000, 'x'));
  EXPECT_EQ(spool.dropped(), 0u);
}

TEST_F(SpoolTest, a_file_is_placed_over_an_older_one_of_the_same_name_and_over_itself) {
  Spool spool(directory(), {});
  const std::string target = root_ / "trend-01.pb.gz";
  const auto first = spool.put(1, "trend", "first"), second = spool.put(1, "trend", "second");
  ASSERT_TRUE(spool.place(*first, target).has_value());
  ASSERT_TRUE(spool.place(*second, target).has_value());
  ASSERT_TRUE(spool.place(*second, target).has_value());
  EXPECT_EQ(read_file(target, 100).value_or("?"), "second");
  EXPECT_FALSE(fs::exists(target + ".tmp"));
  EXPECT_EQ(read_file(directory() + "/" + *first, 100).value_or("?"), "first");
}

TEST_F(SpoolTest, a_profile_in_memory_is_placed_by_writing_it) {
  ASSERT_TRUE(write_file_atomic(root_ / "spool", "a file where the directory should be").has_value());
  Spool spool(directory(), {});
  const auto name = spool.put(1, "http", "evidence");
  ASSERT_TRUE(name.has_value()) << name.error().message;
  EXPECT_TRUE(spool.is_disk_refused());
  ASSERT_TRUE(spool.place(*name, root_ / "capture-01.pb.gz").has_value());
  EXPECT_EQ(read_file(root_ / "capture-01.pb.gz", 100).value_or(""), "evidence");
}

Spool::Profile profile_in_a_file(const std::string& bytes, std::uint64_t string_count) {
  auto file = ProfileFile::make(nullptr);
  EXPECT_TRUE(file && file->append(bytes));
  return {"", std::move(*file), string_count};
}

TEST_F(SpoolTest, a_profile_from_a_file_in_memory_gets_its_comments_in_the_incident_only) {
  std::uint64_t strings = 0;
  const std::string bytes = pprof::write(pprof::sample_profile(), &strings);
  Spool spool(directory(), {});
  const auto name = spool.put(17, "http", profile_in_a_file(bytes, strings));
  ASSERT_TRUE(name.has_value()) << name.error().message;
  ASSERT_TRUE(spool.place(*name, root_ / "placed", {"of the incident"}));
  const auto placed = pprof::read(read_file(root_ / "placed", 1 << 20).value());
  ASSERT_TRUE(placed.has_value()) << placed.error().message;
  EXPECT_EQ(placed->comments.back(), "of the incident");
  EXPECT_EQ(spool.read(*name, 1 << 20).value(), bytes);
}

TEST_F(SpoolTest, a_file_in_memory_stays_in_memory_where_the_disk_refuses_within_its_bound) {
  Spool spool(directory(), {.memory_bytes = 100}, Spool::Start::kInMemory);
  const auto name = spool.put(17, "http", profile_in_a_file("profile", 1));
  ASSERT_TRUE(name.has_value()) << name.error().message;
  EXPECT_EQ(spool.read(*name, 100).value_or(""), "profile");
  EXPECT_EQ(spool.put(18, "http", profile_in_a_file(std::string(101, 'x'), 1)).error().code, ErrorCode::kNoSpace);
}

}  // namespace
}  // namespace oomw
