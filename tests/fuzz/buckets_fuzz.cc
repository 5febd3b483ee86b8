// SPDX-License-Identifier: Apache-2.0
// A process whose memory is the input: walking its "buckets" must end, and what comes out must
// have verified.
#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/cost_oracle.h"
#include "runtimes/go/heap_reader.h"

namespace {

using namespace oomw::go;

void check(const HeapSnapshot& snapshot) {
  if (snapshot.layout == RecordLayout::kUnknown && (snapshot.complete || !snapshot.buckets.empty())) __builtin_trap();
  for (const Bucket& bucket : snapshot.buckets) {
    if (in_use(bucket.held_now()).bytes < 0) __builtin_trap();
    (void)unsample(in_use(bucket.held_now()), snapshot.rate);
    (void)snapshot.pcs_of(bucket);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const oomw::fuzz::CostOracle oracle(size);
  const auto bytes = std::as_bytes(std::span(data, size));
  constexpr std::uint64_t kBase = 0x1000;
  const oomw::SpanSource memory(bytes, kBase);
  HeapTarget target;
  target.variables = {kBase, kBase + 8, kBase + 16};
  ReadLimits limits;
  limits.max_bytes = 1U << 20;
  limits.max_retries = 1;
  if (const auto snapshot = read_heap(memory, target, limits); snapshot.has_value()) check(*snapshot);
  (void)scan_for_list_head(memory, {kBase, kBase + std::min<std::size_t>(size, 4096)});
  return 0;
}
