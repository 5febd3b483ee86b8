// SPDX-License-Identifier: Apache-2.0
// An executable of any shape: the search for Go's heap profile in it must end, within bounds.
#include <span>

#include "fuzz/text_target.h"
#include "runtimes/go/binary.h"

void fuzz_text(std::string_view text) {
  using namespace oomw::go;
  const oomw::SpanSource file(std::as_bytes(std::span(text)));
  const auto binary = inspect_binary(file);
  if (binary.has_value() && binary->profiling == Profiling::kAvailable && !binary->variables.buckets) __builtin_trap();
  if (binary.has_value() && binary->profiling == Profiling::kNarrow && binary->variables.buckets) __builtin_trap();
}
