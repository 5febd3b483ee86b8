// SPDX-License-Identifier: Apache-2.0
// Two profiles that may come from anywhere: compared, grouped, and drawn. The first two bytes say
// where the second begins.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "facts/component_group.h"
#include "fuzz/cost_oracle.h"
#include "pprof/codec.h"
#include "pprof/diff.h"
#include "pprof/flame_graph.h"
#include "pprof/growth_text.h"

namespace {

using namespace oomw;

constexpr pprof::ReadLimits kLimits = {.max_inflated_bytes = 1u << 20, .max_items = 10'000};
// A gzip of 1 KiB may be 1 MiB inflated, which kLimits allows: 10,000 items of 100 to 200 bytes, held several times
// over.
constexpr oomw::fuzz::CostBounds kBounds = {.fixed_bytes = 96u << 20, .bytes_per_byte = 256, .fixed_us = 2'000'000};

bool is_plain_xml(std::string_view svg) {
  for (const char c : svg) {
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n') return false;
  }
  // The only script is ours, at the end.
  return svg.find("<script") == svg.rfind("<script") && svg.ends_with("</script>\n</svg>\n");
}

void draw(const pprof::Profile& profile) {
  const auto picture = pprof::flame_graph(profile, {.source = "a", .limits = {.max_frames = 200, .max_nodes = 20'000}});
  OOMW_CHECK(!picture || is_plain_xml(picture->svg));
}

void compare(const pprof::Profile& before, const pprof::Profile& after) {
  const auto joined = pprof::diff(before, after);
  const std::string& type = after.sample_types.front().type;
  const auto text = pprof::growth_text({"a", before}, {"b", after}, type, component_group_of);
  // "" stands for the profile's default, which may not be there.
  OOMW_CHECK(type.empty() || !text.has_value() || joined.has_value());
  if (!joined) return;
  const auto& types = joined->sample_types;
  const bool is_in_both = std::ranges::find(types, after.sample_types.front()) != types.end();
  OOMW_CHECK(type.empty() || !is_in_both || text.has_value());
  OOMW_CHECK(pprof::read(pprof::write(*joined)).has_value());
  draw(*joined);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const oomw::fuzz::CostOracle oracle(size, kBounds);
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t cut = (std::size_t{data[0]} << 8 | data[1]) % (bytes.size() + 1);
  const auto before = pprof::read(bytes.substr(0, cut), kLimits);
  const auto after = pprof::read(bytes.substr(cut), kLimits);
  if (before) draw(*before);
  if (after) draw(*after);
  if (before && after) compare(*before, *after);
  if (before) compare(*before, *before);
  return 0;
}
