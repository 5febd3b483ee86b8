// SPDX-License-Identifier: Apache-2.0
// Comments appended to a profile of several gzip members, as an endpoint may answer. The first two bytes say where the
// second member begins; the comments are foreign text, too.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fuzz/cost_oracle.h"
#include "pprof/codec.h"
#include "pprof/gzip.h"

namespace {

using namespace oomw;

constexpr pprof::ReadLimits kLimits = {.max_inflated_bytes = 1u << 20, .max_items = 10'000};
// What is read is bounded by kLimits whatever the input's size: two readings of 1 MiB, with 10,000 items each.
constexpr fuzz::CostBounds kBounds = {.fixed_bytes = 96u << 20, .bytes_per_byte = 256, .fixed_us = 2'000'000};

void check(std::string_view bytes, const std::string& comment) {
  const auto plain = pprof::gunzip(bytes, kLimits.max_inflated_bytes);
  OOMW_CHECK(!plain || plain->size() <= kLimits.max_inflated_bytes);
  std::uint64_t strings = 0;
  const auto profile = pprof::read(bytes, kLimits, &strings);
  if (!profile) return;
  const std::string packed = pprof::is_gzip(bytes) ? std::string(bytes) : pprof::gzip(bytes);
  const std::string once = packed + pprof::comment_member(strings, {comment, "fuzz"});
  const std::string twice = once + pprof::comment_member(strings + 2, {comment});
  const auto again = pprof::read(twice, {.max_inflated_bytes = 2u << 20, .max_items = 20'000});
  OOMW_CHECK(again.has_value());
  OOMW_CHECK(again->comments.size() == profile->comments.size() + 3);
  OOMW_CHECK(again->comments.back() == comment);
  OOMW_CHECK(again->samples.size() == profile->samples.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::CostOracle oracle(size, kBounds);
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t cut = (std::size_t{data[0]} << 8 | data[1]) % (bytes.size() + 1);
  const std::string comment(bytes.substr(0, 64));
  check(bytes, comment);
  // Mutations seldom pass gzip's CRC: members are made here, of each part and of neither.
  if (size > 4096) return 0;
  const std::string first = pprof::gzip(bytes.substr(0, cut)), second = pprof::gzip(bytes.substr(cut));
  check(first + second, comment);
  check(first + pprof::gzip("") + second, comment);
  check(first + std::string(bytes.substr(cut)), comment);
  return 0;
}
