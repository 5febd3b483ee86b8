// SPDX-License-Identifier: Apache-2.0
#include "captures/profile_snapshot.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "goruntime/bucket_bytes.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxSamples = 200'000;  // as BucketDecoder::Limits
constexpr std::int64_t kMaxRate = std::int64_t{1} << 40;

using Names = std::unordered_map<std::uint64_t, std::string_view>;  // of functions, by id

// FNV-1a; top bit set, so that it is no address.
std::uint64_t hash_of_lines(const pprof::Location& location, const Names& names) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  const auto mix = [&hash](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3ULL; };
  for (const pprof::Line& line : location.lines) {
    const auto name = names.find(line.function_id);
    if (name != names.end()) mix(std::hash<std::string_view>{}(name->second));
    mix(static_cast<std::uint64_t>(line.line));
  }
  return hash | std::uint64_t{1} << 63;
}

using Addresses = std::unordered_map<std::uint64_t, std::uint64_t>;  // of locations, by id

Addresses addresses_of(const pprof::Profile& profile) {
  Names names;
  if (std::ranges::find(profile.locations, 0u, &pprof::Location::address) != profile.locations.end()) {
    for (const pprof::Function& function : profile.functions) names.emplace(function.id, function.name);
  }
  Addresses addresses;
  addresses.reserve(profile.locations.size());
  for (const pprof::Location& location : profile.locations) {
    // Profiles name the call, buckets the address that it returns to.
    addresses[location.id] = location.address != 0 ? location.address + 1 : hash_of_lines(location, names);
  }
  return addresses;
}

std::vector<std::uint64_t> stack_of(const pprof::Sample& sample, const Addresses& addresses) {
  std::vector<std::uint64_t> pcs;
  for (const std::uint64_t id : sample.location_ids) {
    const auto found = addresses.find(id);
    if (pcs.size() == goruntime::kMaxStackDepth || found == addresses.end()) break;
    pcs.push_back(found->second);
  }
  return pcs;
}

std::uint64_t block_bytes_of(const pprof::Sample& sample, std::int64_t objects, std::int64_t bytes) {
  for (const pprof::Label& label : sample.labels) {
    if (label.key == "bytes" && label.number > 0) return static_cast<std::uint64_t>(label.number);
  }
  return objects > 0 ? static_cast<std::uint64_t>(bytes / objects) : 0;
}

// What was sampled of them: the inverse of goruntime::unsample(), which cuts n/p off to `objects`. So n is the one
// integer from objects x p up to, and less than, (objects + 1) x p.
std::uint64_t sampled(std::int64_t objects, std::uint64_t block_bytes, std::int64_t rate) {
  constexpr double kRounding = 1e-6;
  if (rate <= 1) return static_cast<std::uint64_t>(objects);
  const double chance = -std::expm1(-static_cast<double>(block_bytes) / static_cast<double>(rate));
  return static_cast<std::uint64_t>(std::max(1.0, std::ceil(static_cast<double>(objects) * chance - kRounding)));
}

}  // namespace

Result<goruntime::HeapSnapshot> snapshot_of_profile(const pprof::Profile& profile, std::uint64_t load_bias) {
  const int objects_at = profile.type_index("inuse_objects"), bytes_at = profile.type_index("inuse_space");
  if (objects_at < 0 || bytes_at < 0) return fail(ErrorCode::kInvalid, "no heap profile: nothing is said to be in use");
  if (profile.samples.size() > kMaxSamples) return fail(ErrorCode::kLimit, "more samples than a heap has buckets");
  goruntime::HeapSnapshot snapshot;
  snapshot.rate = std::clamp<std::int64_t>(profile.period, 1, kMaxRate);
  snapshot.layout = goruntime::RecordLayout::kObjects;
  snapshot.load_bias = load_bias;
  snapshot.complete = true;
  const Addresses addresses = addresses_of(profile);
  for (const pprof::Sample& sample : profile.samples) {
    const std::int64_t objects = sample.values[static_cast<std::size_t>(objects_at)];
    const std::int64_t bytes = sample.values[static_cast<std::size_t>(bytes_at)];
    const std::uint64_t size = block_bytes_of(sample, objects, bytes);
    if (objects <= 0 || bytes <= 0 || size == 0) continue;
    const std::vector<std::uint64_t> pcs = stack_of(sample, addresses);
    const std::uint64_t count = sampled(objects, size, snapshot.rate);
    goruntime::Bucket& bucket = snapshot.buckets.emplace_back();
    bucket.first_pc = snapshot.pcs.append(pcs);
    bucket.pc_count = static_cast<std::uint32_t>(pcs.size());
    bucket.size = size;
    bucket.active = {count, 0, count * size, 0};
  }
  return snapshot;
}

}  // namespace oomw
