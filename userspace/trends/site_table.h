// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trends/hash_index.h"

namespace oomw {

// The call sites of one process, each held once: a site is a call stack, a bucket is a site and a
// block size. Go's runtime never frees a bucket, so both keep their numbers for as long as the
// process lives.
//
// - A frame takes 4 bytes (its distance from where the program was loaded; the few from C libraries
//   take 8 more), so a bucket of 20 frames takes about 140 bytes with its indexes.
// - Stacks are identified by a 64-bit hash of their innermost kMaxFrames. A process that makes two of them collide only
//   falsifies its own trend.
// - Bounded: kMaxBuckets; a bucket for which there is no room has no number.
class SiteTable {
 public:
  static constexpr std::size_t kMaxBuckets = 16'384;
  static constexpr std::size_t kMaxFrames = 128;
  static constexpr std::uint32_t kNone = HashIndex::kNone;

  // kNone: full.
  [[nodiscard]] std::uint32_t find_or_add(std::span<const std::uint64_t> pcs, std::uint64_t load_bias,
                                          std::uint64_t block_bytes);
  [[nodiscard]] std::size_t buckets() const { return buckets_.size(); }
  [[nodiscard]] std::size_t sites() const { return sites_.size(); }
  [[nodiscard]] std::uint32_t site_of(std::uint32_t bucket) const { return buckets_[bucket].site; }
  [[nodiscard]] std::uint64_t block_bytes_of(std::uint32_t bucket) const { return buckets_[bucket].block_bytes; }
  // Innermost first; addresses as in the file, that is without the load bias.
  [[nodiscard]] std::vector<std::uint64_t> pcs_of(std::uint32_t site) const;
  // A table with only the buckets marked in `is_used`; new_numbers[old] is a bucket's new number, or kNone.
  [[nodiscard]] SiteTable keep(const std::vector<bool>& is_used, std::vector<std::uint32_t>& new_numbers) const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Site {
    std::uint64_t hash = 0;
    std::uint32_t first_frame = 0, frames = 0;
  };
  struct Bucket {
    std::uint64_t block_bytes = 0;
    std::uint32_t site = 0;
  };
  [[nodiscard]] std::uint32_t find_or_add_site(std::span<const std::uint64_t> pcs, std::uint64_t load_bias);
  [[nodiscard]] std::uint32_t encode(std::uint64_t address);

  std::vector<Site> sites_;
  std::vector<Bucket> buckets_;
  std::vector<std::uint32_t> frames_;
  std::vector<std::uint64_t> far_;  // addresses that do not fit 32 bits
  HashIndex site_index_, bucket_index_;
};

}  // namespace oomw
