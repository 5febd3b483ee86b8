// SPDX-License-Identifier: Apache-2.0
// A process whose memory is the input: walking its "buckets" must end, and what comes out must
// have verified.
#include <span>

#include "fuzz/text_target.h"
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

void fuzz_text(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  constexpr std::uint64_t kBase = 0x1000;
  const oomw::SpanSource memory(bytes, kBase);
  HeapTarget target;
  target.variables = {kBase, kBase + 8, kBase + 16};
  ReadLimits limits;
  limits.max_bytes = 1U << 20;
  limits.max_retries = 1;
  if (const auto snapshot = read_heap(memory, target, limits); snapshot.has_value()) check(*snapshot);
  (void)scan_for_list_head(memory, {kBase, kBase + std::min<std::size_t>(text.size(), 4096)});
}
