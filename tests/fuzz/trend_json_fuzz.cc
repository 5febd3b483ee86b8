// SPDX-License-Identifier: Apache-2.0
// trend.json of a process that makes up its heap: any counts, sizes and stacks, read again and again. What is written
// is JSON, and its size depends on the number of readings, not on what the process lays out.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "fuzz/cost_oracle.h"
#include "trends/trend_document.h"
#include "trends/trend_evidence.h"

namespace {

using namespace oomw;

constexpr std::size_t kMaxReadings = 40, kMaxHoldings = 64;
// Sixteen readings are kept, and three of them are written as profiles: 64 stacks of 8 frames each, whatever the input.
constexpr fuzz::CostBounds kBounds = {.fixed_us = 2'000'000};

// Takes numbers off the input; zeros once it is over.
class Numbers {
 public:
  Numbers(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}
  [[nodiscard]] bool is_over() const { return rest_.empty(); }
  template <typename T>
  [[nodiscard]] T take() {
    T value{};
    const std::size_t n = std::min(sizeof(T), rest_.size());
    std::memcpy(&value, rest_.data(), n);
    rest_ = rest_.subspan(n);
    return value;
  }

 private:
  std::span<const std::uint8_t> rest_;
};

class HexNames final : public ProgramNames {
 public:
  std::vector<std::string> lines_of(std::span<const std::uint64_t> pcs) override {
    std::vector<std::string> lines;
    for (const std::uint64_t pc : pcs) lines.push_back("f\x1b\"" + std::to_string(pc) + " a.go:1");
    return lines;
  }
  pprof::Profile profile_of(const HeapReading&, WallTime, std::vector<std::string> comments) override {
    pprof::Profile profile;
    profile.sample_types = {
        {"alloc_objects", "count"}, {"alloc_space", "bytes"}, {"inuse_objects", "count"}, {"inuse_space", "bytes"}};
    profile.comments = std::move(comments);
    return profile;
  }
};

HeapReading take_reading(Numbers& numbers) {
  HeapReading reading;
  reading.is_complete = numbers.take<std::uint8_t>() % 2 == 0;
  reading.rate = numbers.take<std::int32_t>();
  reading.collection = numbers.take<std::uint16_t>();
  const std::size_t count = numbers.take<std::uint8_t>() % kMaxHoldings;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::uint64_t> pcs(1 + numbers.take<std::uint8_t>() % 8);
    for (auto& pc : pcs) pc = numbers.take<std::uint16_t>();
    HeapHolding holding;
    holding.first_pc = reading.pcs.append(pcs);
    holding.pc_count = static_cast<std::uint32_t>(pcs.size());
    holding.block_bytes = numbers.take<std::uint64_t>();
    holding.held = {numbers.take<std::int64_t>(), numbers.take<std::int64_t>()};
    holding.live = {numbers.take<std::int32_t>(), numbers.take<std::int64_t>()};
    holding.allocated = holding.held;
    reading.holdings.push_back(holding);
  }
  return reading;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::CostOracle oracle(size, kBounds);
  Numbers numbers(data, size);
  HeapTrend trend;
  for (std::size_t i = 0; i < kMaxReadings && !numbers.is_over(); ++i) {
    const std::int64_t seconds = static_cast<std::int64_t>(60 * i) + numbers.take<std::uint8_t>();
    trend.add(take_reading(numbers), {MonotonicTime{seconds * 1'000'000'000}, ReadingOrigin::kScheduled, i < 2});
  }
  HexNames names;
  const SystemClock clock;
  std::string text;  // trend.json, the last that is kept
  const auto keep = [&text](ProcessKey, const std::string& name, std::string bytes) -> Result<std::string> {
    text = std::move(bytes);
    return name;
  };
  const auto kept = keep_trend_evidence(trend, find_leaks(trend, 64u << 20), {1, 1}, names, clock, keep);
  if (!kept || trend.readings().empty()) return 0;  // nothing to write
  const auto read = trend_document_from_json(text);
  OOMW_CHECK(read && to_json(*read) == text);
  OOMW_CHECK(text.find('\x1b') == std::string::npos);
  return 0;
}
