// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "events/heap_sites.h"
#include "facts/operation_patterns.h"
#include "pprof/profile.h"

namespace oomw {

// From a profile's inuse_space; empty without it. Pure. Bounded by pprof::FrameBudget: stacks beyond it count towards
// the total alone, which makes shares smaller, never larger.
[[nodiscard]] HeapSites heap_sites_of(const pprof::Profile& profile, const OperationPatterns& patterns = {});

}  // namespace oomw
