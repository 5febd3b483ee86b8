// SPDX-License-Identifier: Apache-2.0
#include "events/record.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kPlenty = 1u << 20;
constexpr auto kHeader = "{\"type\":\"recording\",\"version\":1,\"wall_minus_monotonic_ns\":0}\n";

class RecordTest : public testing::Test {
 protected:
  std::unique_ptr<Recorder> make_recorder(std::uint64_t max_bytes = kPlenty) {
    auto made = Recorder::make(path, max_bytes, -42);
    EXPECT_TRUE(made.has_value()) << made.error().message;
    return std::move(*made);
  }
  void put(const std::string& bytes) { ASSERT_TRUE(write_file_atomic(path, bytes).has_value()); }
  std::unique_ptr<Recording> open() {
    auto opened = Recording::open(path);
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    return std::move(*opened);
  }
  Error open_error() { return Recording::open(path).error(); }

  test::TemporaryDirectory dir;
  const std::string path = dir / "recording.jsonl";
};

Event lost(std::uint64_t total) { return EventsLost{{1}, "stage", total}; }

std::size_t count_events(Recording& recording) {
  std::size_t n = 0;
  while (recording.next().value().has_value()) ++n;
  return n;
}

TEST_F(RecordTest, what_is_written_is_read_in_order) {
  {
    const auto recorder = make_recorder();
    for (std::uint64_t i = 0; i < 1000; ++i) recorder->write(lost(i));  // more than one buffer
    EXPECT_EQ(recorder->dropped(), 0u);
  }
  const auto recording = open();
  EXPECT_EQ(recording->wall_minus_monotonic_ns(), -42);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(std::get<EventsLost>(recording->next().value().value()).total, i);
  }
  EXPECT_EQ(recording->next().value(), std::nullopt);
}

TEST_F(RecordTest, a_kill_is_on_disk_at_once) {
  const auto recorder = make_recorder();
  recorder->write(OomKill{});
  EXPECT_EQ(count_events(*open()), 1u);
}

TEST_F(RecordTest, full_recording_stops_for_good_and_counts) {
  {
    const auto recorder = make_recorder(300);
    for (std::uint64_t i = 0; i < 10; ++i) recorder->write(lost(i));
    EXPECT_GT(recorder->dropped(), 0u);
    const std::uint64_t before = recorder->dropped();
    recorder->write(CgroupRemoved{});  // would fit again: a hole that nobody sees
    EXPECT_EQ(recorder->dropped(), before + 1);
  }
  EXPECT_LE(read_file(path, kPlenty)->size(), 300u);
  EXPECT_GT(count_events(*open()), 0u);
}

// Files of this process end at so many bytes, as on a full disk, but without one.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit limit{bytes, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST_F(RecordTest, failed_write_ends_the_recording_and_counts_what_was_buffered) {
  const auto recorder = make_recorder();
  {
    const FileSizeLimit limit(100);  // the header and a little
    recorder->write(lost(1));
    recorder->write(OomKill{});  // flushes both
  }
  EXPECT_EQ(recorder->dropped(), 2u);
  recorder->write(OomKill{});  // there is room again, but after half a line
  EXPECT_EQ(recorder->dropped(), 3u);
  EXPECT_EQ(count_events(*open()), 0u);
}

TEST_F(RecordTest, last_line_cut_by_a_crash_ends_the_stream) {
  put(kHeader + to_json_line(lost(1)) + "\n" + to_json_line(lost(2)).substr(0, 20));
  EXPECT_EQ(count_events(*open()), 1u);
}

TEST_F(RecordTest, last_line_without_newline_but_whole_counts) {
  put(kHeader + to_json_line(lost(1)));
  EXPECT_EQ(count_events(*open()), 1u);
}

TEST_F(RecordTest, malformed_line_is_an_error_with_its_number_and_the_rest_is_readable) {
  put(kHeader + to_json_line(lost(1)) + "\n\nnonsense\n" + to_json_line(lost(2)) + "\n");
  const auto recording = open();
  EXPECT_TRUE(recording->next()->has_value());
  EXPECT_EQ(recording->next().error().message, "line 4: not JSON, or cut short");
  EXPECT_TRUE(recording->next()->has_value());
}

TEST_F(RecordTest, endless_line_is_an_error_not_memory) {
  put(kHeader + std::string(2 << 20, 'x'));
  const auto recording = open();
  EXPECT_EQ(recording->next().error().code, ErrorCode::kLimit);
  EXPECT_EQ(recording->next().value(), std::nullopt);
}

TEST_F(RecordTest, what_is_no_recording_is_refused) {
  put("");
  EXPECT_THAT(open_error().message, HasSubstr("empty file"));
  put(to_json_line(lost(1)) + "\n");
  EXPECT_THAT(open_error().message, HasSubstr("line 1 is no header"));
  put("{\"type\":\"recording\",\"version\":2,\"wall_minus_monotonic_ns\":0}\n");
  EXPECT_EQ(open_error().code, ErrorCode::kUnsupported);
  put("{\"type\":\"recording\",\"version\":1,\"wall_minus_monotonic_ns\":\"x\"}\n");
  EXPECT_EQ(open_error().code, ErrorCode::kInvalid);
  EXPECT_EQ(Recording::open(dir / "none").error().code, ErrorCode::kNotFound);
}

TEST_F(RecordTest, recorder_does_not_follow_a_link) {
  ASSERT_EQ(symlink("/dev/null", path.c_str()), 0);
  EXPECT_FALSE(Recorder::make(path, kPlenty, 0).has_value());
}

}  // namespace
}  // namespace oomw
