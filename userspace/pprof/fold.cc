// SPDX-License-Identifier: Apache-2.0
#include "pprof/fold.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "pprof/codec.h"
#include "pprof/saturating.h"

namespace oomw::pprof {
namespace {

constexpr std::size_t kMaxRawBytes = 256u << 20;
constexpr const char* kRest = "(small stacks)";

// Which of a sample's values says how large it is: what is held, else the last type.
std::size_t weight_index(const Profile& profile) {
  for (const char* type : {"inuse_space", "space"}) {
    if (const int index = profile.type_index(type); index >= 0) return static_cast<std::size_t>(index);
  }
  return profile.sample_types.empty() ? 0 : profile.sample_types.size() - 1;
}

void sort_by_weight(std::vector<Sample>& samples, std::size_t index) {
  const auto weight = [&](const Sample& s) { return index < s.values.size() ? s.values[index] : 0; };
  std::stable_sort(samples.begin(), samples.end(),
                   [&](const Sample& a, const Sample& b) { return weight(a) > weight(b); });
}

void add_values(Sample& sum, const Sample& sample) {
  for (std::size_t i = 0; i < sum.values.size() && i < sample.values.size(); ++i) {
    sum.values[i] = saturating_add(sum.values[i], sample.values[i]);
  }
}

// The samples from `first` on, each cut to the `depth` frames next to its root; equal ones become one. Labels differ
// from sample to sample (a Go heap's carry the allocation's size) and go.
std::vector<Sample> cut(const std::vector<Sample>& samples, std::size_t first, std::size_t depth) {
  std::map<std::vector<std::uint64_t>, Sample> merged;
  for (std::size_t i = first; i < samples.size(); ++i) {
    const std::vector<std::uint64_t>& ids = samples[i].location_ids;
    const std::size_t kept = std::min(depth, ids.size());
    std::vector<std::uint64_t> root(ids.end() - static_cast<std::ptrdiff_t>(kept), ids.end());
    const auto [entry, is_new] = merged.try_emplace(root, Sample{root, samples[i].values, {}});
    if (!is_new) add_values(entry->second, samples[i]);
  }
  std::vector<Sample> cut_samples;
  for (auto& [root, sample] : merged) cut_samples.push_back(std::move(sample));
  return cut_samples;
}

std::uint64_t add_rest_location(Profile& profile) {
  std::uint64_t function_id = 0, location_id = 0;
  for (const Function& function : profile.functions) function_id = std::max(function_id, function.id);
  for (const Location& location : profile.locations) location_id = std::max(location_id, location.id);
  profile.functions.push_back({function_id + 1, kRest, kRest, "", 0});
  profile.locations.push_back({location_id + 1, 0, 0, {{function_id + 1, 0}}});
  return location_id + 1;
}

// At most `most` samples, at least 2, with the same sums.
void fold_samples(Profile& profile, std::size_t most) {
  if (profile.samples.size() <= most) return;
  sort_by_weight(profile.samples, weight_index(profile));
  const std::size_t kept = most / 2;
  std::vector<Sample> rest;
  for (std::size_t depth = 64; depth > 0; depth /= 2) {
    rest = cut(profile.samples, kept, depth);
    if (rest.size() <= most - kept) break;
  }
  if (rest.size() > most - kept) {
    rest = cut(profile.samples, kept, 0);
    rest.front().location_ids = {add_rest_location(profile)};
  }
  profile.samples.resize(kept);
  std::move(rest.begin(), rest.end(), std::back_inserter(profile.samples));
}

// Tables hold what the samples lead to, and nothing else.
void drop_unused(Profile& profile) {
  std::set<std::uint64_t> locations, functions, mappings;
  for (const Sample& sample : profile.samples) locations.insert(sample.location_ids.begin(), sample.location_ids.end());
  std::erase_if(profile.locations, [&](const Location& location) { return !locations.contains(location.id); });
  for (const Location& location : profile.locations) {
    mappings.insert(location.mapping_id);
    for (const Line& line : location.lines) functions.insert(line.function_id);
  }
  std::erase_if(profile.functions, [&](const Function& function) { return !functions.contains(function.id); });
  std::erase_if(profile.mappings, [&](const Mapping& mapping) { return !mappings.contains(mapping.id); });
}

}  // namespace

std::size_t raw_bytes(const Profile& profile) {
  const auto raw = gunzip(write(profile), kMaxRawBytes);
  return raw.has_value() ? raw->size() : kMaxRawBytes;
}

Profile folded(Profile profile, const FoldLimits& limits) {
  drop_unused(profile);
  for (std::size_t most = std::max<std::size_t>(limits.max_samples, 2);; most /= 2) {
    fold_samples(profile, most);
    drop_unused(profile);
    if (most <= 3 || raw_bytes(profile) <= limits.max_bytes) return profile;
  }
}

}  // namespace oomw::pprof
