// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "pprof/profile.h"

namespace oomw::pprof {

struct FoldLimits {
  std::size_t max_samples = 15'000;
  std::size_t max_bytes = 3'500'000;  // of the protobuf, before gzip
};

// A profile that is small enough for a profile store, with the same totals: the largest stacks stay as they are, the
// others lose their leaves until enough of them have become equal. What is in no sample any more is left out of the
// tables. Pure; a profile within the limits comes back as it is, but for its tables.
[[nodiscard]] Profile folded(Profile profile, const FoldLimits& limits);
// The length of its protobuf before gzip.
[[nodiscard]] std::size_t raw_bytes(const Profile& profile);

}  // namespace oomw::pprof
