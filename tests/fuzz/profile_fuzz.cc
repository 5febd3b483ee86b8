// SPDX-License-Identifier: Apache-2.0
// Whatever a pprof endpoint answers: read, written again, commented, shown.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "facts/profile_facts.h"
#include "fuzz/cost_oracle.h"
#include "pprof/codec.h"
#include "pprof/gzip.h"
#include "pprof/top.h"

namespace {

constexpr oomw::pprof::ReadLimits kLimits = {.max_inflated_bytes = 1u << 20, .max_items = 10'000};
// A gzip of 1 KiB may be 1 MiB inflated, which kLimits allows: 10,000 items of 100 to 200 bytes, held several times
// over.
constexpr oomw::fuzz::CostBounds kBounds = {.fixed_bytes = 96u << 20, .bytes_per_byte = 256, .fixed_us = 2'000'000};

void check(std::string_view bytes) {
  std::uint64_t strings = 0;
  const auto profile = oomw::pprof::read(bytes, kLimits, &strings);
  (void)oomw::facts_of_profile(bytes);
  if (!profile) return;
  const std::string packed = oomw::pprof::is_gzip(bytes) ? std::string(bytes) : oomw::pprof::gzip(bytes);
  const auto with_comment = oomw::pprof::read(packed + oomw::pprof::comment_member(strings, {"fuzz"}));
  OOMW_CHECK(with_comment.has_value() && with_comment->comments.size() == profile->comments.size() + 1);
  const auto again = oomw::pprof::read(oomw::pprof::write(*profile));
  OOMW_CHECK(again.has_value() && again->samples.size() == profile->samples.size());
  for (const auto& type : profile->sample_types) {
    const std::string text = oomw::pprof::to_text(oomw::pprof::top(*profile, type.type), 20);
    OOMW_CHECK(!text.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const oomw::fuzz::CostOracle oracle(size, kBounds);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check(bytes);
  // Mutations seldom pass gzip's CRC: most of the work happens on the bare protobuf.
  if (size <= 4096) check(oomw::pprof::gzip(bytes));
  return 0;
}
