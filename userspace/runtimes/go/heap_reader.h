// SPDX-License-Identifier: Apache-2.0
// The heap profile of a live process, read from outside. The process is neither stopped nor asked.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "process/process_image.h"
#include "runtimes/go/bucket_decoder.h"
#include "runtimes/go/heap_snapshot.h"

namespace oomw::go {

// Where a process keeps its heap profile. Values are addresses in the process; the list behind
// `buckets` may still be empty, so this is the head's address and never its first value.
struct HeapTarget {
  ProcessImage image;
  std::uint64_t load_bias = 0;
  HeapVariables variables;
  LocateMethod method = LocateMethod::kNone;
  std::string go_version;
};

struct ReadLimits {
  BucketDecoder::Limits decoder;
  std::uint64_t max_bytes = 512U << 20;  // fetched in one walk: a hostile list makes each bucket cost a block
  std::uint32_t max_retries = 3;         // when a collection publishes counts during the walk
};

// Combines a process with the facts of its file: load bias, addresses, and, if the file gave no list head, a scan of
// the process's .bss. Errors: kUnsupported (profiling linked out, not Go), kNotFound (gone, other program, nothing
// found). find: scan_for_list_head(), wherever that is to be done.
using ListHeadFinder = std::function<Result<std::uint64_t>(elf::AddressRange bss)>;
[[nodiscard]] Result<HeapTarget> resolve_target(const ProcessImage& image, const GoBinary& binary,
                                                const ListHeadFinder& find);

// Finds the head of the bucket list by structure: the one aligned word of .bss that points to a bucket whose hash
// verifies. kNotFound while the list is empty (before the first sampled allocation).
[[nodiscard]] Result<std::uint64_t> scan_for_list_head(const ByteSource& memory, elf::AddressRange bss);

// The raw word of runtime.mProfCycle, see CycleState: 4 bytes, a microsecond. Nothing if its address is not known.
[[nodiscard]] Result<std::optional<std::uint32_t>> read_cycle(const ByteSource& memory, const HeapTarget& target);

// Walks the list. An Error: the process cannot be read. A snapshot that is not complete has a reason, and so has one
// without buckets (rate 0, list empty). Costs about 0.2 ms for tens of buckets and 1 us per bucket above that; never
// more than the limits.
[[nodiscard]] Result<HeapSnapshot> read_heap(const ByteSource& memory, const HeapTarget& target,
                                             const ReadLimits& limits);

}  // namespace oomw::go
