// SPDX-License-Identifier: Apache-2.0
// An executable of any shape: the search for Go's heap profile in it must end, within bounds.
#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/cost_oracle.h"
#include "runtimes/go/binary.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const oomw::fuzz::CostOracle oracle(size);
  using namespace oomw::go;
  const oomw::SpanSource file(std::as_bytes(std::span(data, size)));
  const auto binary = inspect_binary(file);
  if (binary.has_value() && binary->profiling == Profiling::kAvailable && !binary->variables.buckets) __builtin_trap();
  if (binary.has_value() && binary->profiling == Profiling::kNarrow && binary->variables.buckets) __builtin_trap();
  return 0;
}
