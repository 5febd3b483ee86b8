// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "pprof/profile.h"
#include "runtimes/go/binary.h"
#include "runtimes/go/heap_snapshot.h"
#include "runtimes/go/symbolizer.h"

namespace oomw {

struct GoProfileContext {
  WallTime taken;
  std::string exe_path;               // of the mapping; hostile
  const go::GoBinary& binary;         // borrowed for the call
  std::vector<std::string> comments;  // come first: method, process, trigger
};

// Sums over all buckets, scaled as in the profile; saturating.
struct HeapTotals {
  std::uint64_t held_bytes = 0;  // held now: active and pending cycles
  std::uint64_t live_bytes = 0;  // live at the last collection
};
[[nodiscard]] HeapTotals totals_of(const go::HeapSnapshot& snapshot);

// What went into the profile and what did not, one line each, for its comments:
//   oomwitness: go=go1.26.1 rate=524288 layout=objects_and_bytes located_by=code
//   oomwitness: series=held_now held_bytes=... live_at_last_gc_bytes=... gc_cycle=17 torn=no
//   oomwitness: buckets=62 walked=62 clipped=0 rejected=0 complete=yes
[[nodiscard]] std::vector<std::string> describe_snapshot(const go::HeapSnapshot& snapshot);

// A heap profile that `go tool pprof` reads without the binary: the four sample types of
// runtime/pprof, values held now, scaled against sampling as it does, with function, file and line.
//
// - Buckets without any count are left out; a bucket's block size is the label "bytes".
// - A frame is a location; equal ones are shared. Without `symbolizer` (null) locations are bare
//   addresses, and the mapping carries what is needed to name them later.
[[nodiscard]] pprof::Profile build_profile(const go::HeapSnapshot& snapshot, go::Symbolizer* symbolizer,
                                           const GoProfileContext& context);

}  // namespace oomw
