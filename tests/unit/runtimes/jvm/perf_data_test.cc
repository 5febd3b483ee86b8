// SPDX-License-Identifier: Apache-2.0
#include "runtimes/jvm/perf_data.h"

#include <cstring>
#include <string>
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
  [[nodiscard]] Result<PerfCounters> parse() const { return parse_perf_data(bytes_); }
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
  EXPECT_EQ(counters->threads_live, 12u);
  EXPECT_FALSE(counters->loaded_classes);
}

TEST(PerfData, impossible_values_are_not_known) {
  PerfFile file;
  file.add("java.threads.live", -1).add("java.cls.loadedClasses", std::int64_t{1} << 60);
  const auto counters = file.parse();
  ASSERT_TRUE(counters.has_value());
  EXPECT_FALSE(counters->threads_live);
  EXPECT_FALSE(counters->loaded_classes);
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
