// SPDX-License-Identifier: Apache-2.0
#include "runtimes/native/glibc_arenas.h"

#include <array>
#include <optional>
#include <span>

#include "runtimes/native/words.h"

namespace oomw::native {
namespace {

constexpr std::size_t kBins = 127, kBinBytes = 16;
// From the first bin; the same in 2.31 to 2.43.
constexpr std::uint64_t kTopBefore = 0x10, kNext = 0x800, kSystem = 0x818, kMaxSystem = 0x820, kEnd = 0x828;
// Where the bins lie in an arena: before 2.43, and without fastbins since.
constexpr std::array<std::uint64_t, 5> kBinsOffsets = {0x70, 0x18, 0x68, 0x10, 0x20};
constexpr std::uint64_t kMaxDataBytes = 1u << 20;
constexpr std::size_t kMinProvedBins = 32;

bool is_libc(const Mapping& mapping) {
  const std::string_view name = mapping.file_name();
  return name == "libc.so.6" || name.starts_with("libc-2.");
}

PageRange brk_of(const MemoryMap& map) {
  PageRange range;
  for (const Mapping& mapping : map.mappings()) {
    if (mapping.name != "[heap]") continue;
    if (range.begin == 0) range.begin = mapping.begin;
    range.end = mapping.end;
  }
  return range;
}

// Where an arena may point to: what is mapped, and what brk has been raised by since.
class ChunkPlaces {
 public:
  ChunkPlaces(const MemoryMap& map, PageRange brk) : map_(map), brk_(brk) {}
  [[nodiscard]] const MemoryMap& map() const { return map_; }
  [[nodiscard]] PageRange brk() const { return brk_; }
  [[nodiscard]] bool holds(std::uint64_t address) const {
    const bool is_new_brk = brk_.end != 0 && address >= brk_.end && address - brk_.end < kMaxGrowth;
    return address % 16 == 0 && (is_new_brk || map_.at(address) != nullptr);
  }

 private:
  const MemoryMap& map_;
  const PageRange brk_;
};

// Whether the first chunk in a bin knows the bin's head as the one before it.
bool is_linked(const AddressSpace& space, std::uint64_t chunk, std::uint64_t head) {
  std::array<std::byte, 8> before;
  const Result<std::size_t> n = space.read_some(chunk + 24, before);
  return n.has_value() && *n == before.size() && number_at(before, 0) == head;
}

// bytes: from 16 before the first bin, which lies at `bins`, to its arena's end. An empty bin points to itself. In a
// heap that is full of gaps few are empty: then the chunks in the others must point back.
bool are_bins(const AddressSpace& space, const ChunkPlaces& places, std::span<const std::byte> bytes,
              std::uint64_t bins) {
  std::size_t proved = 0;
  for (std::size_t i = 0; i < kBins; ++i) {
    const std::uint64_t self = bins + i * kBinBytes - 16;
    const std::uint64_t forward = number_at(bytes, 16 + i * kBinBytes), back = number_at(bytes, 24 + i * kBinBytes);
    if ((forward == self) != (back == self)) return false;
    if (forward == self) {
      ++proved;
    } else if (!places.holds(forward) || !places.holds(back)) {
      return false;
    }
  }
  for (std::size_t i = 0; i < kBins && proved < kMinProvedBins; ++i) {
    const std::uint64_t self = bins + i * kBinBytes - 16, forward = number_at(bytes, 16 + i * kBinBytes);
    if (forward != self && is_linked(space, forward, self)) ++proved;
  }
  return proved >= kMinProvedBins;
}

std::optional<Arena> parse_arena(const AddressSpace& space, const ChunkPlaces& places, std::span<const std::byte> bytes,
                                 std::uint64_t bins) {
  const std::uint64_t next = number_at(bytes, 16 + kNext);
  const Arena arena{0, number_at(bytes, 16 - kTopBefore), number_at(bytes, 16 + kSystem), false};
  const std::uint64_t most = number_at(bytes, 16 + kMaxSystem);
  const bool is_sound = arena.system_bytes > 0 && arena.system_bytes % kPageBytes == 0 && arena.system_bytes <= most &&
                        places.map().at(next) != nullptr && places.holds(arena.top) &&
                        are_bins(space, places, bytes, bins);
  return is_sound ? std::optional(arena) : std::nullopt;
}

struct StoredArena {
  Arena arena;
  std::uint64_t next = 0;
};

Result<StoredArena> read_stored(const AddressSpace& space, const ChunkPlaces& places, std::uint64_t bins_offset,
                                std::uint64_t address) {
  std::array<std::byte, 16 + kEnd> bytes;
  const std::uint64_t bins = address + bins_offset;
  ASSIGN_OR_RETURN(const std::size_t n, space.read_some(bins - 16, bytes));
  if (n < bytes.size()) return fail(ErrorCode::kNotFound, "arena is not in memory");
  std::optional<Arena> arena = parse_arena(space, places, bytes, bins);
  if (!arena) return fail(ErrorCode::kNotFound, "no sound arena");
  arena->address = address;
  return StoredArena{*arena, number_at(bytes, 16 + kNext)};
}

// The layout whose ring of arenas closes.
std::optional<Arenas> close_ring(const AddressSpace& space, const ChunkPlaces& places, std::uint64_t bins,
                                 std::uint64_t bins_offset) {
  Arenas found{bins_offset, bins_offset + kEnd, places.brk(), {}};
  const std::uint64_t first = bins - bins_offset;
  for (std::uint64_t at = first; found.arenas.size() < kMaxArenas;) {
    Result<StoredArena> stored = read_stored(space, places, bins_offset, at);
    if (!stored.has_value()) return std::nullopt;
    stored->arena.is_main = at == first;
    found.arenas.push_back(stored->arena);
    at = stored->next;
    if (at == first) return found;
  }
  return std::nullopt;
}

std::optional<Arenas> find_in(const AddressSpace& space, const ChunkPlaces& places, const Mapping& data) {
  if (data.size() > kMaxDataBytes) return std::nullopt;
  std::vector<std::byte> bytes(data.size());
  if (!space.read_present(data.begin, bytes).has_value()) return std::nullopt;
  for (std::size_t at = 16; at + kEnd <= bytes.size(); at += 8) {
    const std::uint64_t bins = data.begin + at;
    // A test of one word for each place: bins point to themselves or to chunks.
    const std::uint64_t last = number_at(bytes, at + (kBins - 1) * kBinBytes);
    if (last < kPageBytes || !are_bins(space, places, std::span(bytes).subspan(at - 16), bins)) continue;
    for (const std::uint64_t offset : kBinsOffsets) {
      if (std::optional<Arenas> found = close_ring(space, places, bins, offset)) return found;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<Arenas> find_arenas(const AddressSpace& space) {
  const ChunkPlaces places(space.map(), brk_of(space.map()));
  bool is_behind_libc = false;  // its .bss is a mapping of its own
  for (const Mapping& mapping : space.map().mappings()) {
    const bool is_data = is_libc(mapping) || (is_behind_libc && !mapping.has_file() && mapping.name.empty());
    is_behind_libc = is_libc(mapping);
    if (!is_data || !mapping.is_writable) continue;
    if (std::optional<Arenas> found = find_in(space, places, mapping)) return *found;
  }
  return fail(ErrorCode::kNotFound, "no arenas of glibc's malloc were found");
}

Result<Arena> read_arena(const AddressSpace& space, const Arenas& layout, std::uint64_t address) {
  ASSIGN_OR_RETURN(const StoredArena stored,
                   read_stored(space, ChunkPlaces(space.map(), layout.brk), layout.bins_offset, address));
  return stored.arena;
}

}  // namespace oomw::native
