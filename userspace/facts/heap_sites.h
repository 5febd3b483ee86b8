// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "events/heap_sites.h"
#include "facts/operation_patterns.h"
#include "pprof/profile.h"

namespace oomw {

// From a profile's inuse_space; empty without it. Pure. Bounded by pprof::FrameBudget: stacks beyond it count towards
// the total alone, which makes shares smaller, never larger.
// A site is the own function that is nearest to the allocation. One that three own functions or more call, of which
// one asked for half of it or more, allocates for others and tells nothing: its stacks count for its callers. Not if
// that caller is the operation's own function, which the site names anyway. Where no operation has half of a site, up
// to three that have half together stand in its `operation`: the function may allocate for all of them alike.
[[nodiscard]] HeapSites heap_sites_of(const pprof::Profile& profile, const OperationPatterns& patterns = {});

// From a profile of growth: the places that its writer left as labels (growth_pprof.h); empty for any other. Pure.
[[nodiscard]] HeapSites grown_sites_of(const pprof::Profile& profile);

}  // namespace oomw
