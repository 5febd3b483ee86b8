// SPDX-License-Identifier: Apache-2.0
#include "facts/profile_facts.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "facts/collector_components.h"
#include "facts/heap_sites.h"
#include "pprof/codec.h"

namespace oomw {
namespace {

// 100,000 buckets inflate to about 20 MB. A body that claims more, or so many small items that they would take more
// than 60 MB once parsed (150 bytes each), is refused before it can do harm.
constexpr pprof::ReadLimits kLimits = {.max_inflated_bytes = 32u << 20, .max_items = 400'000};

// Go writes exactly these; names of functions and files always come with them.
bool is_of_go(const pprof::Profile& profile) {
  constexpr auto kTypes =
      std::to_array<std::string_view>({"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"});
  if (!std::ranges::equal(profile.sample_types, kTypes, {}, &pprof::ValueType::type)) return false;
  const auto is_go_file = [](const pprof::Function& function) {
    return function.filename.ends_with(".go") || function.filename.ends_with(".s");
  };
  const auto named = static_cast<std::size_t>(std::ranges::count_if(profile.functions, is_go_file));
  return 2 * named > profile.functions.size();
}

std::string list_types(const pprof::Profile& profile) {
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(profile.sample_types.size(), 4); ++i) {
    out.append(out.empty() ? "" : ", ").append(printable(profile.sample_types[i].type, 40));
  }
  return out;
}

}  // namespace

Result<ProfileFacts> facts_of_profile(std::string_view body, const OperationPatterns& patterns,
                                      std::uint64_t* string_count) {
  ASSIGN_OR_RETURN(const pprof::Profile profile, pprof::read(body, kLimits, string_count));
  const int space = profile.type_index("inuse_space");
  if (space < 0 || profile.type_index("inuse_objects") < 0) {
    return fail(ErrorCode::kInvalid, "not a heap profile: its sample types are " + list_types(profile));
  }
  if (profile.sample_types[static_cast<std::size_t>(space)].unit != "bytes") {
    return fail(ErrorCode::kInvalid, "not a heap profile: inuse_space is not in bytes");
  }
  const std::int64_t inuse = profile.total(space);
  if (inuse < 0) return fail(ErrorCode::kInvalid, "not a heap profile: less than nothing in use");
  const bool is_go = is_of_go(profile);
  return ProfileFacts{static_cast<std::uint64_t>(inuse), profile.samples.size(),
                      is_go ? std::optional(RuntimeKind::kGo) : std::nullopt,
                      is_go ? collector_components_of(profile) : std::vector<CollectorComponent>{},
                      is_go ? heap_sites_of(profile, patterns) : HeapSites{}};
}

}  // namespace oomw
