// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "events/capture_terms.h"

namespace oomw {

struct HeapFigures {
  std::uint64_t inuse_bytes = 0;
  std::uint64_t sample_count = 0;
  // kGo: as runtime/pprof writes it, and most functions lie in Go's sources. Converters of C++ allocators' profiles
  // (jeprof, gperftools) may use the same sample types.
  std::optional<RuntimeKind> of;
};

// Verifies the body of a heap endpoint: a whole pprof profile with the heap's sample types. kInvalid ("truncated" in
// the message when it ends early) or kLimit, as returned by pprof::read.
// string_count: see pprof::read.
[[nodiscard]] Result<HeapFigures> check_heap_profile(std::string_view body, std::uint64_t* string_count = nullptr);

}  // namespace oomw
