// SPDX-License-Identifier: Apache-2.0
// What an incident keeps of a heap profile. Computed once, where the profile is checked or made, so that nothing later
// needs its bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "events/capture_terms.h"
#include "events/collector_component.h"
#include "events/heap_sites.h"
#include "facts/operation_patterns.h"

namespace oomw {

struct ProfileFacts {
  std::uint64_t inuse_bytes = 0;
  std::uint64_t sample_count = 0;
  // kGo: as runtime/pprof writes it, and most functions lie in Go's sources. Converters of C++ allocators' profiles
  // (jeprof, gperftools) may use the same sample types.
  std::optional<RuntimeKind> of;
  std::vector<CollectorComponent> components;  // most bytes first; empty: not of an OpenTelemetry Collector
  HeapSites sites;                             // empty: not of Go
};

// Verifies the body of a heap endpoint: a whole pprof profile with the heap's sample types. kInvalid ("truncated" in
// the message when it ends early) or kLimit, as returned by pprof::read. Pure: any thread or process; at most 32 MiB
// inflated and 60 MB parsed. string_count: see pprof::read.
[[nodiscard]] Result<ProfileFacts> facts_of_profile(std::string_view body, const OperationPatterns& patterns = {},
                                                    std::uint64_t* string_count = nullptr);

}  // namespace oomw
