// SPDX-License-Identifier: Apache-2.0
#include "runtimes/native/glibc_chunks.h"

#include <algorithm>
#include <array>
#include <optional>

#include "runtimes/native/words.h"

namespace oomw::native {
namespace {

constexpr std::uint64_t kWindowBytes = 256u << 10;
constexpr std::uint64_t kHeadBytes = 16, kMinBytes = 32, kFence = 16;
constexpr std::uint64_t kPrevInUse = 1, kIsMapped = 2, kFlags = 7;
constexpr std::uint64_t kHeapBytes = 64u << 20;  // and alignment, of the heaps of arenas that threads use
constexpr std::uint64_t kMinMappedBytes = 64u << 10;
constexpr std::size_t kMaxHeaps = 4096;
constexpr int kAttempts = 3;
constexpr int kTopReads = 8;

// Where an arena's memory ended at one moment: the program goes on to take from its top while it is read.
struct Top {
  std::uint64_t address = 0;  // 0: a heap that is full ends with a fence
  std::uint64_t bytes = 0;
};

// The chunks of an arena's memory that lie behind each other.
class ChunkChain {
 public:
  ChunkChain(const AddressSpace& space, ChunkSink* sink, MallocTotals& totals, SizeCounts& sizes)
      : space_(space), sink_(sink), totals_(totals), sizes_(sizes) {}

  // From `begin` to the top or the fence; what was taken behind the picture's end is left out. False: broken.
  [[nodiscard]] Result<bool> run(std::uint64_t begin, std::uint64_t end, const Top& top) {
    before_ = {};
    const std::uint64_t picture_end = end_of_picture(begin, end);
    for (std::uint64_t at = begin; at < end;) {
      if (at >= picture_end) return take_newer(at, top, end);
      ASSIGN_OR_RETURN(const Chunk chunk, read(at));
      if (!settle_before(chunk)) return false;
      if (at == top.address) return take_top(top, end);
      if (top.address == 0 && chunk.bytes == kFence) return true;
      if (chunk.bytes < kMinBytes || chunk.bytes % 16 != 0 || chunk.bytes > end - at) return false;
      before_ = chunk;
      at += chunk.bytes;
    }
    return false;
  }

  // Between the picture's end and the top: taken since.
  [[nodiscard]] std::uint64_t newer_bytes() const { return newer_bytes_; }

 private:
  struct Chunk {
    std::uint64_t address = 0, bytes = 0, before_bytes = 0;
    bool is_before_in_use = false;
    std::array<std::uint64_t, ChunkSink::kWords> words{};
  };

  [[nodiscard]] Result<Chunk> read(std::uint64_t at) {
    constexpr std::uint64_t kNeeded = kHeadBytes + ChunkSink::kWords * 8;
    if (window_.empty()) window_.resize(kWindowBytes);
    if (window_begin_ == 0 || at < window_begin_ || at + kNeeded > window_begin_ + window_.size()) {
      window_begin_ = at;
      RETURN_IF_ERROR(space_.read_present(at, window_));
    }
    const auto bytes = std::span<const std::byte>(window_).subspan(at - window_begin_, kNeeded);
    const auto head = number_at(bytes, 8);
    Chunk chunk{at, head & ~kFlags, number_at(bytes, 0), (head & kPrevInUse) != 0, {}};
    if (head & kIsMapped) chunk.bytes = 0;
    for (std::size_t i = 0; i < chunk.words.size(); ++i) chunk.words[i] = number_at(bytes, kHeadBytes + i * 8);
    return chunk;
  }

  // Whether a chunk is free is written in the one behind it, with its size once more.
  [[nodiscard]] bool settle_before(const Chunk& next) {
    if (before_.address == 0) return next.is_before_in_use;
    if (!next.is_before_in_use) {
      if (next.before_bytes != before_.bytes) return false;
      totals_.free_bytes += before_.bytes;
      totals_.free_resident_bytes += space_.present().bytes_in(before_.address, before_.address + before_.bytes);
      return true;
    }
    totals_.in_use_bytes += before_.bytes;
    sizes_.add(before_.bytes);
    if (sink_ != nullptr) sink_->chunk(before_.address + kHeadBytes, before_.bytes - 8, before_.words);
    return true;
  }

  [[nodiscard]] std::uint64_t end_of_picture(std::uint64_t begin, std::uint64_t end) const {
    const auto ranges = space_.present().ranges_in(begin, end);
    return ranges.empty() ? begin : std::min(ranges.back().end, end);
  }

  // Whether the last one before `at` is in use stands behind the picture's end.
  [[nodiscard]] bool take_newer(std::uint64_t at, const Top& top, std::uint64_t end) {
    if (top.address < at || top.address - at > kMaxGrowth) return false;
    newer_bytes_ += top.address - at + before_.bytes;
    return take_top(top, end);
  }

  [[nodiscard]] bool take_top(const Top& top, std::uint64_t end) {
    if (top.address > end || top.bytes > end - top.address) return false;
    totals_.top_bytes += top.bytes;
    totals_.top_resident_bytes += space_.present().bytes_in(top.address, top.address + top.bytes);
    return true;
  }

  const AddressSpace& space_;
  ChunkSink* sink_;
  MallocTotals& totals_;
  SizeCounts& sizes_;
  Chunk before_;
  std::vector<std::byte> window_;
  std::uint64_t window_begin_ = 0;
  std::uint64_t newer_bytes_ = 0;
};

struct ArenaWalk {
  MallocTotals totals;
  SizeCounts sizes;
  std::vector<PageRange> ranges;
  std::uint64_t newer_bytes = 0;  // taken behind the picture's end: in the sum only
};

// An arena and its top at one moment; top.bytes is 0 where the picture of the memory ends before it.
struct ArenaMoment {
  Arena arena;
  Top top;
};

Result<ArenaMoment> read_moment(const AddressSpace& space, const Arenas& layout, std::uint64_t address) {
  ASSIGN_OR_RETURN(Arena arena, read_arena(space, layout, address));
  for (int i = 0; i < kTopReads; ++i) {
    std::array<std::byte, kHeadBytes> head{};
    ASSIGN_OR_RETURN(const std::size_t n, space.read_some(arena.top, head));
    const Top top{arena.top, n < head.size() ? 0 : number_at(head, 8) & ~kFlags};
    ASSIGN_OR_RETURN(const Arena again, read_arena(space, layout, address));
    if (again.top == arena.top && again.system_bytes == arena.system_bytes) return ArenaMoment{arena, top};
    arena = again;
  }
  return fail(ErrorCode::kNotFound, "the arena does not rest");
}

// brk's memory has no gaps, so that its end is known where the top was not read.
Result<bool> walk_main(PageRange brk, const ArenaMoment& moment, ChunkChain& chain, std::vector<PageRange>& ranges) {
  Top top = moment.top;
  if (brk.begin == 0 || top.address < brk.begin) return false;
  if (top.bytes == 0) {
    const std::uint64_t end = brk.begin + moment.arena.system_bytes;
    if (end < brk.end || end <= top.address) return false;
    top.bytes = end - top.address;
  }
  ranges.push_back(brk);
  return chain.run((brk.begin + 15) & ~std::uint64_t{15}, top.address + top.bytes, top);
}

// The heaps of an arena, the newest first: each begins with its arena, the heap before, its size.
Result<bool> walk_heaps(const AddressSpace& space, const Arenas& layout, const ArenaMoment& moment, ChunkChain& chain,
                        std::vector<PageRange>& ranges) {
  const Arena& arena = moment.arena;
  for (std::uint64_t heap = arena.top & ~(kHeapBytes - 1); heap != 0 && ranges.size() < kMaxHeaps;) {
    std::array<std::byte, 40> head;
    ASSIGN_OR_RETURN(const std::size_t n, space.read_some(heap, head));
    const std::uint64_t size = number_at(head, 16), page_size = number_at(head, 32);
    if (n < head.size() || number_at(head, 0) != arena.address || size > kHeapBytes || size % kPageBytes != 0)
      return false;
    const bool is_first = (arena.address & ~(kHeapBytes - 1)) == heap;
    const bool has_page_size = page_size == kPageBytes || page_size == (2u << 20);
    std::uint64_t begin = is_first ? arena.address + layout.state_bytes : heap + (has_page_size ? 0x30 : 0x20);
    begin = (begin + 15) & ~std::uint64_t{15};
    Top top = ranges.empty() ? moment.top : Top();
    if (top.address != 0 && top.bytes == 0) top.bytes = heap + size - std::min(heap + size, top.address);
    ranges.push_back({heap, heap + size});
    ASSIGN_OR_RETURN(const bool is_sound, chain.run(begin, heap + size, top));
    if (!is_sound) return false;
    const std::uint64_t before = number_at(head, 8);
    if (is_first != (before == 0)) return false;
    heap = before;
  }
  return true;
}

bool is_sum_closed(const Arena& arena, const ArenaWalk& walk) {
  const std::uint64_t sum =
      walk.totals.in_use_bytes + walk.totals.free_bytes + walk.totals.top_bytes + walk.newer_bytes;
  const std::uint64_t most_off = kPageBytes * walk.ranges.size();
  return sum <= arena.system_bytes + 64 && arena.system_bytes <= sum + most_off;
}

Result<std::optional<ArenaWalk>> walk_arena(const AddressSpace& space, const Arenas& layout, const ArenaMoment& moment,
                                            ChunkSink* sink) {
  ArenaWalk walk;
  ChunkChain chain(space, sink, walk.totals, walk.sizes);
  if (sink != nullptr) sink->begin();
  Result<bool> is_sound = moment.arena.is_main ? walk_main(layout.brk, moment, chain, walk.ranges)
                                               : walk_heaps(space, layout, moment, chain, walk.ranges);
  if (!is_sound.has_value()) return tl::unexpected(is_sound.error());
  walk.newer_bytes = chain.newer_bytes();
  if (!*is_sound || !is_sum_closed(moment.arena, walk)) return std::optional<ArenaWalk>();
  return std::optional(std::move(walk));
}

void add(MallocTotals& sum, const MallocTotals& more) {
  ++sum.arenas;
  sum.in_use_bytes += more.in_use_bytes;
  sum.free_bytes += more.free_bytes;
  sum.free_resident_bytes += more.free_resident_bytes;
  sum.top_bytes += more.top_bytes;
  sum.top_resident_bytes += more.top_resident_bytes;
}

}  // namespace

Result<MallocWalk> walk_arenas(const AddressSpace& space, const Arenas& arenas, ChunkSink* sink) {
  MallocWalk whole;
  for (const Arena& found : arenas.arenas) {
    std::optional<ArenaWalk> walk;
    for (int attempt = 0; attempt < kAttempts && !walk; ++attempt) {
      Result<ArenaMoment> moment = read_moment(space, arenas, found.address);
      if (!moment.has_value()) continue;
      moment->arena.is_main = found.is_main;
      ASSIGN_OR_RETURN(walk, walk_arena(space, arenas, *moment, sink));
    }
    if (!walk) {
      ++whole.broken_arenas;
      whole.broken_bytes += found.system_bytes;
      continue;
    }
    if (sink != nullptr) sink->keep();
    add(whole.totals, walk->totals);
    whole.sizes.add(walk->sizes);
    whole.ranges.insert(whole.ranges.end(), walk->ranges.begin(), walk->ranges.end());
  }
  std::ranges::sort(whole.ranges, {}, &PageRange::begin);
  return whole;
}

std::uint64_t mapped_chunk_at(const AddressSpace& space, std::uint64_t address, std::uint64_t end, ChunkSink* sink) {
  std::array<std::byte, kHeadBytes + ChunkSink::kWords * 8> bytes;
  const Result<std::size_t> n = space.read_some(address, bytes);
  if (!n.has_value() || *n < bytes.size()) return 0;
  const std::uint64_t pad = number_at(bytes, 0), head = number_at(bytes, 8), size = head & ~kFlags;
  const bool is_sound = (head & kFlags) == kIsMapped && pad < kPageBytes && pad % 16 == 0 && size >= kMinMappedBytes &&
                        (size + pad) % kPageBytes == 0 && size + pad <= end - address;
  if (!is_sound) return 0;
  if (sink != nullptr) {
    std::array<std::uint64_t, ChunkSink::kWords> words;
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = number_at(bytes, kHeadBytes + i * 8);
    sink->begin();
    sink->chunk(address + kHeadBytes, size - kHeadBytes, words);
    sink->keep();
  }
  return size + pad;
}

}  // namespace oomw::native
