// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/cached_reader.h"
#include "runtimes/go/bucket_decoder.h"

namespace oomw::go {

// Follows the list of all buckets once, newest first, and feeds a decoder.
//
// - Bounded by the decoder's limits, the reader's byte limit, and loop detection (Brent: constant
//   memory, at most three times round).
// - Stops at the first header that cannot be one: its link cannot be trusted. Skips hash mismatches, up to
//   kMaxRejected.
class BucketWalk {
 public:
  static constexpr std::uint64_t kMaxRejected = 16;

  BucketWalk(CachedReader& memory, BucketDecoder& decoder) : memory_(memory), decoder_(decoder) {}

  // True if the end was reached with every bucket taken.
  [[nodiscard]] bool run(std::uint64_t head);
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] bool found_loop() const { return found_loop_; }

 private:
  [[nodiscard]] Result<BucketHeader> read_header(std::uint64_t address);
  [[nodiscard]] bool take(std::uint64_t address, const BucketHeader& header);
  [[nodiscard]] bool loops(std::uint64_t address);
  [[nodiscard]] bool stop(std::string reason);

  CachedReader& memory_;
  BucketDecoder& decoder_;
  std::vector<std::uint64_t> pcs_;
  std::string reason_;
  bool found_loop_ = false;
  std::uint64_t tortoise_ = 0, steps_ = 0, lap_ = 1;
};

}  // namespace oomw::go
