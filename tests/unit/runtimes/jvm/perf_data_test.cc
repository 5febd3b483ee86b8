// SPDX-License-Identifier: Apache-2.0
#include "runtimes/jvm/perf_data.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace oomw::jvm {
namespace {

class PerfFile {
 public:
  PerfFile() : bytes_(32) {
    put(0, std::uint32_t{0xc0c0feca});
    put(4, std::uint32_t{0x01000201});  // little endian, 2.0, accessible
    put(24, std::int32_t{32});
  }
  PerfFile& add(const std::string& name, std::int64_t value, char type = 'J') {
    const std::size_t at = bytes_.size(), data = (20 + name.size() + 8) / 8 * 8;
    bytes_.resize(at + data + 8);
    put(at, static_cast<std::int32_t>(data + 8));
    put(at + 4, std::int32_t{20});
    put(at + 12, type);
    put(at + 16, static_cast<std::int32_t>(data));
    std::memcpy(bytes_.data() + at + 20, name.c_str(), name.size() + 1);
    put(at + data, value);
    put(28, ++entries_);
    return *this;
  }
  template <typename T>
  void put(std::size_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  [[nodiscard]] Result<JvmFigures> parse() const { return parse_perf_data(bytes_); }
  void cut(std::size_t bytes) { bytes_.resize(bytes_.size() - bytes); }

 private:
  std::vector<std::byte> bytes_;
  std::int32_t entries_ = 0;
};

TEST(PerfData, spaces_and_collectors_are_summed) {
  PerfFile file;
  file.add("sun.gc.generation.0.space.0.used", 100).add("sun.gc.generation.1.space.0.used", 20);
  file.add("sun.gc.collector.0.invocations", 3).add("java.threads.live", 12);
  const auto counters = file.parse();
  ASSERT_TRUE(counters.has_value());
  EXPECT_EQ(counters->heap_used_bytes, 120u);
  EXPECT_EQ(counters->collections, 3u);
  EXPECT_EQ(counters->threads, 12u);
  EXPECT_FALSE(counters->loaded_classes);
}

TEST(PerfData, committed_memory_is_that_of_generations_without_their_spaces) {
  PerfFile file;
  file.add("sun.gc.generation.0.capacity", 100).add("sun.gc.generation.0.space.0.capacity", 80);
  file.add("sun.gc.generation.1.capacity", 300).add("sun.gc.generation.1.maxCapacity", 900);
  file.add("sun.gc.metaspace.capacity", 50);
  file.add("java.cls.loadedClasses", 7).add("java.cls.sharedLoadedClasses", 450);
  const auto counters = file.parse();
  ASSERT_TRUE(counters.has_value());
  EXPECT_EQ(counters->heap_committed_bytes, 400u);
  EXPECT_EQ(counters->metaspace_committed_bytes, 50u);
  EXPECT_EQ(counters->loaded_classes, 457u);
}

TEST(PerfData, impossible_values_are_not_known) {
  PerfFile file;
  file.add("java.threads.live", -1).add("java.cls.loadedClasses", std::int64_t{1} << 60);
  const auto counters = file.parse();
  ASSERT_TRUE(counters.has_value());
  EXPECT_FALSE(counters->threads);
  EXPECT_FALSE(counters->loaded_classes);
}

TEST(PerfData, times_are_by_the_jvms_own_clock) {
  PerfFile file;
  file.add("sun.os.hrt.frequency", 1'000'000'000).add("sun.os.hrt.ticks", 60'200'000'000);
  file.add("sun.gc.collector.0.time", 200'000'000).add("sun.gc.collector.1.time", 100'000'000);
  file.add("sun.gc.collector.0.lastExitTime", 59'000'000'000).add("sun.gc.collector.1.lastExitTime", 2'000'000'000);
  file.add("sun.gc.collector.0.invocations", 13).add("sun.gc.collector.1.invocations", 1);
  file.add("sun.gc.generation.1.space.0.used", 42 << 20).add("sun.gc.metaspace.used", 12 << 20);
  file.add("java.threads.live", 21).add("java.cls.loadedClasses", 512);
  const auto counters = file.parse();
  ASSERT_TRUE(counters.has_value());
  EXPECT_DOUBLE_EQ(counters->seconds_since_collection.value_or(0), 1.2);
  EXPECT_EQ(
      last_words(*counters),
      "21 threads, 512 loaded classes; 14 collections took 0.3 of 60.2 s; the last one ended 1.2 s before and left "
      "42.0 MiB in the heap, 12.0 MiB in metaspace");
}

// Sizes are written by collections: zeros before the first one are not what is in use.
TEST(PerfData, jvm_that_never_collected_left_no_sizes) {
  PerfFile file;
  file.add("sun.os.hrt.frequency", 1'000'000'000).add("sun.os.hrt.ticks", 5'000'000'000);
  file.add("sun.gc.collector.0.invocations", 0).add("sun.gc.collector.0.lastExitTime", 0);
  file.add("sun.gc.collector.0.time", 0).add("sun.gc.generation.1.space.0.used", 0).add("java.threads.live", 21);
  const auto counters = file.parse();
  ASSERT_TRUE(counters.has_value());
  EXPECT_FALSE(counters->heap_used_bytes);
  EXPECT_EQ(last_words(*counters), "21 threads; 0 collections took 0.0 of 5.0 s");
}

TEST(PerfData, times_that_cannot_be_are_not_known) {
  PerfFile file;
  file.add("sun.os.hrt.frequency", 0).add("sun.os.hrt.ticks", 5).add("sun.gc.collector.0.lastExitTime", 3);
  EXPECT_FALSE(file.parse()->uptime_seconds);
  EXPECT_FALSE(file.parse()->seconds_since_collection);
  EXPECT_EQ(last_words(*file.parse()), "");
  PerfFile later;
  later.add("sun.os.hrt.frequency", 1).add("sun.os.hrt.ticks", 5).add("sun.gc.collector.0.lastExitTime", 30);
  EXPECT_DOUBLE_EQ(later.parse()->seconds_since_collection.value_or(9), 0);
}

TEST(PerfData, torn_file_has_no_counters) {
  PerfFile file;
  file.add("java.threads.live", 12).add("java.threads.livePeak", 13);
  file.cut(9);
  EXPECT_EQ(file.parse().error().code, ErrorCode::kInvalid);
}

TEST(PerfData, entry_of_no_length_ends_the_reading) {
  PerfFile file;
  file.add("java.threads.live", 12);
  file.put(32, std::int32_t{0});
  EXPECT_EQ(file.parse().error().code, ErrorCode::kInvalid);
}

TEST(PerfData, file_of_something_else_is_refused) {
  PerfFile file;
  file.put(0, std::uint32_t{0});
  EXPECT_EQ(file.parse().error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace oomw::jvm
