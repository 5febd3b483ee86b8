// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "memory/cached_reader.h"
#include "runtimes/go/retention/spans.h"

namespace oomw::go::retention {

// An object that stands for `weight_bytes` of the heap.
struct Sample {
  std::uint64_t base = 0;  // of its slot
  std::uint32_t span = 0;
  double weight_bytes = 0;
};

struct Samples {
  std::vector<Sample> taken;
  bool is_from_profile = false;
  double weight_bytes = 0;
  // Functions that the runtime calls when an object is no longer reachable. They, the object and all they hold stay
  // alive without any other root.
  struct Finalizer {
    std::uint64_t function = 0, object = 0;
  };
  std::vector<Finalizer> finalizers;
  bool is_cut = false;  // not all of them were read
};

struct SampleLimits {
  std::size_t max_samples = 2000;
  std::size_t max_specials = 400'000;
  std::size_t fewest_from_profile = 30;
  double rate_bytes = 512 << 10;  // runtime.MemProfileRate
  std::uint64_t seed = 1;         // of the random choice
};

// The objects that the heap profile sampled and that still exist, each weighted by the bytes it stands for; where
// profiling is linked out or gives too few, slots chosen at random, uniform over bytes.
[[nodiscard]] Result<Samples> take_samples(Image& image, const SpanTable& spans, CachedReader& memory,
                                           const SampleLimits& limits);

}  // namespace oomw::go::retention
