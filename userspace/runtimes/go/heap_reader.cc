// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/heap_reader.h"

#include <algorithm>
#include <vector>

#include "memory/present_pages.h"
#include "runtimes/go/bucket_walk.h"

namespace oomw::go {

namespace {

constexpr std::int64_t kDefaultRate = 512 << 10;
constexpr std::int64_t kMaxRate = std::int64_t{1} << 40;
// The largest .bss seen is 0.4 MB; a file may claim anything.
constexpr std::uint64_t kMaxScanBytes = 64U << 20;
constexpr std::uint64_t kMaxCandidateBytes = 256U << 20;
// Words that lead to what has the shape of a bucket: each may cost the hash of a stack. Real programs have one or two.
constexpr std::uint32_t kMaxShapes = 4096;
constexpr std::size_t kCandidateBlockBytes = 4096;
// Below the size from which malloc maps: mapping and unmapping blocks, which interrupts all cores, was half of the cost
// of reading a heap of 500 buckets.
constexpr std::size_t kWalkBlockBytes = 16U << 10;
constexpr std::uint64_t kLowestPointer = 0x10000, kPointerLimit = std::uint64_t{1} << 48;

// The offset to add to the file's addresses. AT_ENTRY gives it in one small read; a hostile process can make its list
// of mappings 65,530 lines long. An Error if the image cannot be this binary: the program was replaced in between.
Result<std::uint64_t> load_bias(const ProcessImage& image, const GoBinary& binary) {
  const std::uint64_t bias = image.entry - binary.entry;
  const bool fits = binary.is_position_independent ? bias % kPageBytes == 0 : bias == 0;
  if (!fits) return fail(ErrorCode::kNotFound, "process " + std::to_string(image.pid) + " runs another program now");
  return bias;
}

bool is_bucket(CachedReader& memory, std::uint64_t address, std::uint32_t& shapes) {
  const auto header = memory.get<BucketHeader>(address);
  if (!header.has_value() || !is_plausible(*header) || header->stack_depth == 0) return false;
  ++shapes;
  std::vector<std::uint64_t> pcs(header->stack_depth);
  const std::uint64_t stack = address + sizeof(BucketHeader);
  if (!memory.read(stack, std::as_writable_bytes(std::span(pcs))).has_value()) return false;
  return bucket_hash(pcs, header->size) == header->hash;
}

std::uint64_t shifted(std::uint64_t address, std::uint64_t bias) { return address + bias; }

HeapVariables in_process(const HeapVariables& file, std::uint64_t bias) {
  HeapVariables live;
  if (file.buckets) live.buckets = shifted(*file.buckets, bias);
  if (file.rate) live.rate = shifted(*file.rate, bias);
  if (file.cycle) live.cycle = shifted(*file.cycle, bias);
  return live;
}

// The current value of a variable, past any cache; nothing if its address is not known.
template <typename T>
Result<std::optional<T>> read_variable(const ByteSource& memory, std::optional<std::uint64_t> address) {
  if (!address) return std::optional<T>{};
  T value{};
  ASSIGN_OR_RETURN(const std::size_t n, memory.read_some(*address, std::as_writable_bytes(std::span(&value, 1))));
  if (n < sizeof(value)) return fail(ErrorCode::kInvalid, "a variable of the runtime is not mapped");
  return std::optional(value);
}

Result<> read_rate(const ByteSource& memory, const HeapTarget& target, HeapSnapshot& snapshot) {
  snapshot.rate = kDefaultRate;
  snapshot.is_rate_assumed = true;
  const auto rate = read_variable<std::int64_t>(memory, target.variables.rate);
  // Initialised data: its page is still the file's, and not read, where nothing on it was ever written to.
  if (!rate && rate.error().code == ErrorCode::kInvalid) return {};
  if (!rate) return tl::make_unexpected(rate.error());
  if (!*rate || **rate < 0 || **rate > kMaxRate) return {};
  snapshot.rate = **rate;
  snapshot.is_rate_assumed = false;
  return {};
}

void explain_empty(HeapSnapshot& snapshot) {
  if (!snapshot.complete || !snapshot.buckets.empty() || !snapshot.reason.empty()) return;
  snapshot.reason = snapshot.rate == 0 ? "runtime.MemProfileRate is 0: no allocation is sampled"
                                       : "no allocation has been sampled yet";
}

Result<HeapSnapshot> walk_once(const ByteSource& source, const HeapTarget& target, const ReadLimits& limits) {
  HeapSnapshot snapshot;
  snapshot.go_version = target.go_version;
  snapshot.method = target.method;
  snapshot.load_bias = target.load_bias;
  CachedReader memory(source, limits.max_bytes, kWalkBlockBytes);
  // The head must not be older than the cycle word.
  ASSIGN_OR_RETURN(const auto before, read_cycle(source, target));
  RETURN_IF_ERROR(read_rate(source, target, snapshot));
  ASSIGN_OR_RETURN(const auto head, read_variable<std::uint64_t>(source, target.variables.buckets));
  BucketDecoder decoder(limits.decoder);
  BucketWalk walk(memory, decoder);
  snapshot.complete = walk.run(head.value_or(0));
  snapshot.reason = walk.reason();
  decoder.finish(snapshot);
  if (walk.found_loop()) {  // a list that loops is not the runtime's
    snapshot.buckets.clear();
    snapshot.pcs = PcPool();
  }
  ASSIGN_OR_RETURN(const auto after, read_cycle(source, target));
  if (before && after) snapshot.cycle = CycleState{*before, *after, 0};
  snapshot.bytes_read = memory.bytes_fetched();
  snapshot.reads = memory.fetches();
  explain_empty(snapshot);
  return snapshot;
}

}  // namespace

Result<std::optional<std::uint32_t>> read_cycle(const ByteSource& memory, const HeapTarget& target) {
  return read_variable<std::uint32_t>(memory, target.variables.cycle);
}

Result<std::uint64_t> scan_for_list_head(const ByteSource& memory, elf::AddressRange bss) {
  CachedReader words(memory, kMaxScanBytes + CachedReader::kBlockBytes * 2);
  CachedReader candidates(memory, kMaxCandidateBytes, kCandidateBlockBytes);
  std::vector<std::uint64_t> hits;
  const std::uint64_t end = std::min(bss.end, bss.begin + kMaxScanBytes);
  std::uint32_t shapes = 0;
  for (std::uint64_t at = (bss.begin + 7) / 8 * 8; at + 8 <= end && hits.size() < 2; at += 8) {
    ASSIGN_OR_RETURN(const auto value, words.get<std::uint64_t>(at));
    const bool is_pointer = value % 8 == 0 && value >= kLowestPointer && value < kPointerLimit;
    if (is_pointer && is_bucket(candidates, value, shapes)) hits.push_back(at);
    if (candidates.is_used_up() || shapes > kMaxShapes) {
      return fail(ErrorCode::kLimit, "too much in .bss looks like pointers to buckets");
    }
  }
  if (hits.empty()) return fail(ErrorCode::kNotFound, "no pointer to a bucket in .bss (the list may still be empty)");
  if (hits.size() > 1) return fail(ErrorCode::kInvalid, "more than one pointer to a bucket in .bss");
  return hits.front();
}

Result<HeapTarget> resolve_target(const ProcessImage& image, const GoBinary& binary, const ListHeadFinder& find) {
  const bool is_readable = binary.profiling == Profiling::kAvailable || binary.profiling == Profiling::kNotFound;
  if (!binary.is_go || !is_readable) return fail(ErrorCode::kUnsupported, binary.why);
  HeapTarget target;
  target.image = image;
  target.go_version = binary.go_version;
  target.method = binary.method;
  ASSIGN_OR_RETURN(target.load_bias, load_bias(image, binary));
  target.variables = in_process(binary.variables, target.load_bias);
  if (!target.variables.buckets) {
    const elf::AddressRange bss{shifted(binary.bss.begin, target.load_bias), shifted(binary.bss.end, target.load_bias)};
    auto head = find(bss);
    if (!head.has_value()) return tl::make_unexpected(std::move(head).error().with_context(binary.why));
    target.variables.buckets = *head;
    target.method = LocateMethod::kScan;
  }
  return target;
}

Result<HeapSnapshot> read_heap(const ByteSource& memory, const HeapTarget& target, const ReadLimits& limits) {
  if (!target.variables.buckets) return fail(ErrorCode::kUnsupported, "no address of the bucket list");
  for (std::uint32_t attempt = 0;; ++attempt) {
    ASSIGN_OR_RETURN(HeapSnapshot snapshot, walk_once(memory, target, limits));
    if (snapshot.cycle) snapshot.cycle->retries = attempt;
    if (!snapshot.cycle || !snapshot.cycle->is_torn() || attempt == limits.max_retries) return snapshot;
  }
}

}  // namespace oomw::go
