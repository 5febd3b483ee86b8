// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/result.h"
#include "goruntime/heap_snapshot.h"
#include "pprof/profile.h"

namespace oomw {

// A heap profile that a Go process wrote itself, as if its buckets had been read: so that a trend does
// not care where a reading comes from.
//
// - The profile says what was live at the last collection, corrected for sampling; the snapshot's counts
//   are the sampled ones again, for sampling is what the noise of a trend is judged by. Nothing is
//   pending: held now is not known, and counts as live.
// - A stack is its locations' addresses, as a reading of its memory has them; one without an address (a profile that
// has been stripped of
//   them) is told by its functions and lines.
// - Samples of one stack and block size are one bucket. Go's label "bytes" is the block size; without it
//   the mean is.
// kInvalid: no inuse_objects and inuse_space in it. kLimit: more samples than a heap has buckets.
[[nodiscard]] Result<goruntime::HeapSnapshot> snapshot_of_profile(const pprof::Profile& profile,
                                                                  std::uint64_t load_bias);

}  // namespace oomw
