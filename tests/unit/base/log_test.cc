// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result.h"
#include "base/unique_fd.h"

namespace oomw {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

TEST(Log, before_start_messages_go_out_directly) {
  CaptureStderr();
  log::warn("disk {} full", 7);
  EXPECT_EQ(GetCapturedStderr(), "oomwitness: disk 7 full\n");
}

TEST(Log, stop_flushes_what_was_queued_in_order) {
  CaptureStderr();
  log::start(log::Level::kInfo);
  for (int i = 0; i < 100; ++i) log::info("message {}", i);
  log::stop();
  const std::string out = GetCapturedStderr();
  EXPECT_THAT(out, HasSubstr("info message 98\n"));
  EXPECT_LT(out.find("message 98\n"), out.find("message 99\n"));
}

TEST(Log, level_hides_what_is_below) {
  CaptureStderr();
  log::start(log::Level::kWarn);
  log::info("hidden");
  log::error("shown");
  log::stop();
  const std::string out = GetCapturedStderr();
  EXPECT_THAT(out, Not(HasSubstr("hidden")));
  EXPECT_THAT(out, HasSubstr("error shown"));
}

// stderr and stdout of a service are one stream into the journal, named in its environment.
class JournalStream {
 public:
  explicit JournalStream(int fd) {
    struct stat info = {};
    OOMW_CHECK(::fstat(fd, &info) == 0);
    ::setenv("JOURNAL_STREAM", fmt::format("{}:{}", info.st_dev, info.st_ino).c_str(), 1);
  }
  ~JournalStream() { ::unsetenv("JOURNAL_STREAM"); }
};

TEST(Log, in_the_journal_each_line_begins_with_its_priority) {
  CaptureStderr();
  {
    const JournalStream journal(STDERR_FILENO);
    log::start(log::Level::kInfo);
    log::info("usual");
    log::warn("unusual");
    log::error("bad");
    log::stop();
  }
  const std::string out = GetCapturedStderr();
  EXPECT_THAT(out, MatchesRegex("<6>.* info usual\n<4>.* warning unusual\n<3>.* error bad\n"));
}

TEST(Log, what_was_redirected_away_from_the_journal_has_no_priorities) {
  CaptureStderr();
  const UniqueFd other(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  {
    const JournalStream journal(other.get());
    log::warn("plain");
    EXPECT_EQ(log::journal_prefix(log::Level::kWarn, other.get()), "<4>");
  }
  EXPECT_EQ(GetCapturedStderr(), "oomwitness: plain\n");
}

TEST(Log, braces_in_a_message_are_text) {
  CaptureStderr();
  log::start(log::Level::kInfo);
  log::write(log::Level::kInfo, "hostile {} {0:x}");
  log::stop();
  EXPECT_THAT(GetCapturedStderr(), HasSubstr("hostile {} {0:x}"));
}

// stderr becomes a pipe without a reader, so the log thread blocks in write once it is full.
class StalledStderr {
 public:
  StalledStderr() : saved_(::dup(STDERR_FILENO)) {
    int fds[2] = {-1, -1};
    EXPECT_EQ(::pipe2(fds, O_CLOEXEC), 0);
    read_end_.reset(fds[0]);
    ::dup2(fds[1], STDERR_FILENO);
    ::close(fds[1]);
  }
  ~StalledStderr() { ::dup2(saved_.get(), STDERR_FILENO); }
  // From now on everything is read away.
  void drain() {
    reader_ = std::jthread([fd = read_end_.get()] {
      char ignored[4096];
      while (::read(fd, ignored, sizeof(ignored)) > 0) {
      }
    });
  }

 private:
  UniqueFd saved_, read_end_;
  std::jthread reader_;  // ends when the last writer's end is replaced
};

TEST(Log, stalled_stderr_never_blocks_a_writer_and_drops_are_counted) {
  const std::uint64_t before = log::dropped_messages();
  const std::string message(1000, 'x');
  {
    StalledStderr stderr_pipe;
    log::start(log::Level::kInfo);
    for (int i = 0; i < 6000; ++i) log::write(log::Level::kInfo, message);
    // The queue holds 4096 and the pipe about 64 of these; the rest cannot have been kept.
    EXPECT_GT(log::dropped_messages() - before, 1000u);
    stderr_pipe.drain();
    log::stop();
  }
  EXPECT_GT(log::dropped_messages() - before, 1000u);
}

}  // namespace
}  // namespace oomw
