// SPDX-License-Identifier: Apache-2.0
// The file of a process that maps it as a JVM does, read when the process and the file's name are gone.
#include "analyses/jvm_counter_files.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyses/analysis_wire.h"
#include "process/process_image.h"

namespace oomw {
namespace {

// A header and one counter.
std::vector<char> counters_of(std::int64_t threads) {
  std::vector<char> file(32 + 48);
  const auto put = [&](std::size_t at, auto value) { std::memcpy(file.data() + at, &value, sizeof value); };
  put(0, std::uint32_t{0xc0c0feca});
  put(4, std::uint32_t{0x01000201});
  put(24, std::int32_t{32});
  put(28, std::int32_t{1});
  put(32, std::int32_t{48});
  put(36, std::int32_t{20});
  put(44, 'J');
  put(48, std::int32_t{40});
  std::strcpy(file.data() + 52, "java.threads.live");
  put(72, threads);
  return file;
}

class JvmCounterFilesTest : public testing::Test {
 protected:
  JvmCounterFilesTest() {
    char name[] = "/tmp/oomw-jvm-XXXXXX";
    directory_ = ::mkdtemp(name);
  }
  ~JvmCounterFilesTest() override {
    end();
    std::filesystem::remove_all(directory_);
  }
  // Maps a file below `folder`, writes its counters and waits.
  void start(const std::string& folder) {
    std::filesystem::create_directory(directory_ + "/" + folder);
    path_ = directory_ + "/" + folder + "/1";
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int file = ::open(path_.c_str(), O_RDWR | O_CREAT, 0600);
      const std::vector<char> counters = counters_of(21);
      void* mapped = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (::ftruncate(file, 4096) != 0) ::_exit(1);
      std::memcpy(mapped, counters.data(), counters.size());
      ::close(file);
      if (::write(ends[1], "x", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    char byte = 0;
    ASSERT_EQ(::read(ends[0], &byte, 1), 1);
    ::close(ends[0]);
    ::close(ends[1]);
    const auto image = read_process_image(pid_, "/proc");
    ASSERT_TRUE(image.has_value());
    key_ = {pid_, image->start_time_ticks};
  }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

  std::string directory_, path_;
  pid_t pid_ = -1;
  ProcessKey key_;
  JvmCounterFiles files_;
};

TEST_F(JvmCounterFilesTest, counters_are_read_when_process_and_name_are_gone) {
  start("hsperfdata_app");
  files_.open("/proc", CgroupId{5}, key_);
  EXPECT_TRUE(files_.knows(CgroupId{5}));
  end();
  std::filesystem::remove(path_);
  std::vector<UniqueFd> given;
  given.push_back(files_.take(key_));
  ASSERT_TRUE(given[0].is_valid());
  const auto found = decode_analysed(read_jvm_counters_job("", given).value_or(""));
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_THAT(found->notes, testing::ElementsAre("the JVM's own last figures: 21 threads"));
  ASSERT_EQ(found->jvm.size(), 1u);
  EXPECT_EQ(found->jvm[0].threads, 21u);
  EXPECT_FALSE(files_.take(key_).is_valid()) << "once";
}

TEST_F(JvmCounterFilesTest, process_without_counters_is_remembered_without_a_file) {
  start("another");
  files_.open("/proc", CgroupId{5}, key_);
  EXPECT_TRUE(files_.knows(CgroupId{5}));
  EXPECT_FALSE(files_.knows(CgroupId{6}));
  EXPECT_FALSE(files_.take(key_).is_valid());
}

TEST_F(JvmCounterFilesTest, file_is_kept_until_a_kill_can_have_been_reported) {
  start("hsperfdata_app");
  files_.open("/proc", CgroupId{5}, key_);
  files_.forget_gone(MonotonicTime{1'000});
  EXPECT_TRUE(files_.knows(CgroupId{5}));
  end();
  const MonotonicTime gone{2'000'000'000};
  files_.forget_gone(gone);
  EXPECT_FALSE(files_.knows(CgroupId{5}));  // the next process of this container is looked at
  files_.forget_gone(gone + JvmCounterFiles::kPatience);
  EXPECT_TRUE(files_.take(key_).is_valid());
}

TEST_F(JvmCounterFilesTest, file_of_a_process_that_ended_long_ago_is_closed) {
  start("hsperfdata_app");
  files_.open("/proc", CgroupId{5}, key_);
  end();
  files_.forget_gone(MonotonicTime{1'000});
  files_.forget_gone(MonotonicTime{2'000} + JvmCounterFiles::kPatience);
  EXPECT_FALSE(files_.take(key_).is_valid());
}

TEST_F(JvmCounterFilesTest, oldest_file_makes_room_and_is_counted) {
  start("hsperfdata_app");
  for (std::uint64_t i = 1; i <= JvmCounterFiles::kMaxFiles + 3; ++i) files_.open("/proc", CgroupId{i}, key_);
  EXPECT_EQ(files_.dropped(), 3u);
}

TEST(ReadJvmCounters, file_of_something_else_is_an_error) {
  std::vector<UniqueFd> given;
  given.emplace_back(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(read_jvm_counters_job("", given).has_value());
}

}  // namespace
}  // namespace oomw
