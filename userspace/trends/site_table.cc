// SPDX-License-Identifier: Apache-2.0
#include "trends/site_table.h"

#include <algorithm>

namespace oomw {
namespace {

// From this value on, a frame is a position in far_.
constexpr std::uint32_t kFar = 0xffff'0000;
constexpr std::size_t kMaxFar = 0xffff;
// How many of the newest are searched for an equal address. Searching all would take a second per heap if a process has
// only such addresses in its stacks; a duplicate costs 8 bytes.
constexpr std::ptrdiff_t kFarLooks = 64;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 29);
}

std::uint64_t hash_of(std::span<const std::uint64_t> pcs, std::uint64_t load_bias) {
  std::uint64_t hash = pcs.size();
  for (const std::uint64_t pc : pcs) hash = mixed(hash, pc - load_bias);
  return hash;
}

}  // namespace

std::uint32_t SiteTable::encode(std::uint64_t address) {
  if (address < kFar) return static_cast<std::uint32_t>(address);
  const auto newest = far_.end() - std::min<std::ptrdiff_t>(kFarLooks, std::ssize(far_));
  const auto known = std::find(newest, far_.end(), address);
  const auto position = static_cast<std::size_t>(known - far_.begin());
  if (known == far_.end() && far_.size() < kMaxFar) far_.push_back(address);
  return kFar + static_cast<std::uint32_t>(std::min(position, kMaxFar));
}

std::uint32_t SiteTable::find_or_add_site(std::span<const std::uint64_t> pcs, std::uint64_t load_bias) {
  const std::uint64_t hash = hash_of(pcs, load_bias);
  const std::uint32_t known = site_index_.find(hash, [&](std::uint32_t site) { return sites_[site].hash == hash; });
  if (known != kNone) return known;
  const auto site = static_cast<std::uint32_t>(sites_.size());
  sites_.push_back({hash, static_cast<std::uint32_t>(frames_.size()), static_cast<std::uint32_t>(pcs.size())});
  for (const std::uint64_t pc : pcs) frames_.push_back(encode(pc - load_bias));
  site_index_.add(hash, site);
  return site;
}

std::uint32_t SiteTable::find_or_add(std::span<const std::uint64_t> pcs, std::uint64_t load_bias,
                                     std::uint64_t block_bytes) {
  pcs = pcs.first(std::min(pcs.size(), kMaxFrames));
  const std::uint64_t hash = mixed(hash_of(pcs, load_bias), block_bytes);
  const std::uint32_t known = bucket_index_.find(hash, [&](std::uint32_t bucket) {
    const Bucket& candidate = buckets_[bucket];
    return mixed(sites_[candidate.site].hash, candidate.block_bytes) == hash;
  });
  if (known != kNone) return known;
  if (buckets_.size() >= kMaxBuckets) return kNone;
  const auto bucket = static_cast<std::uint32_t>(buckets_.size());
  buckets_.push_back({block_bytes, find_or_add_site(pcs, load_bias)});
  bucket_index_.add(hash, bucket);
  return bucket;
}

std::vector<std::uint64_t> SiteTable::pcs_of(std::uint32_t site) const {
  std::vector<std::uint64_t> pcs;
  const Site& wanted = sites_[site];
  for (std::uint32_t i = 0; i < wanted.frames; ++i) {
    const std::uint32_t frame = frames_[wanted.first_frame + i];
    const std::size_t position = frame - std::min(frame, kFar);
    pcs.push_back(frame < kFar ? frame : position < far_.size() ? far_[position] : 0);
  }
  return pcs;
}

SiteTable SiteTable::keep(const std::vector<bool>& is_used, std::vector<std::uint32_t>& new_numbers) const {
  SiteTable kept;
  new_numbers.assign(buckets_.size(), kNone);
  for (std::uint32_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    if (!is_used[bucket]) continue;
    new_numbers[bucket] = kept.find_or_add(pcs_of(buckets_[bucket].site), 0, buckets_[bucket].block_bytes);
  }
  kept.sites_.shrink_to_fit();
  kept.buckets_.shrink_to_fit();
  kept.frames_.shrink_to_fit();
  return kept;
}

std::size_t SiteTable::bytes() const {
  return sites_.capacity() * sizeof(Site) + buckets_.capacity() * sizeof(Bucket) +
         frames_.capacity() * sizeof(std::uint32_t) + far_.capacity() * sizeof(std::uint64_t) + site_index_.bytes() +
         bucket_index_.bytes();
}

}  // namespace oomw
