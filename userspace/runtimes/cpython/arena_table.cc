// SPDX-License-Identifier: Apache-2.0
#include "runtimes/cpython/arena_table.h"

#include <algorithm>
#include <array>

#include "memory/cached_reader.h"
#include "runtimes/native/words.h"

namespace oomw::cpython {
namespace {

using native::number_at;

constexpr std::uint64_t kEntryBytes = 48, kPoolsOfArena = 64, kFirstLength = 16;
constexpr std::uint64_t kArenaNumberAt = 32;
constexpr std::size_t kSample = 64, kFewestPools = 16;
constexpr std::uint64_t kMaxReadBytes = 64u << 20;
constexpr std::size_t kReadBlock = 4096;

struct Pool {
  std::uint64_t address = 0;
  std::uint32_t arena = 0;  // number of its entry
};

// Spread over all regions.
std::vector<Pool> sample_of(const PoolRegions& regions, CachedReader& reader) {
  std::uint64_t all = 0;
  const std::uint64_t bytes = regions.pool_bytes();
  for (const PageRange& range : regions.ranges()) all += range.size() / bytes;
  const std::uint64_t step = std::max<std::uint64_t>(all / kSample, 1) * bytes;
  std::vector<Pool> pools;
  for (const PageRange& range : regions.ranges()) {
    for (std::uint64_t at = (range.begin + bytes - 1) / bytes * bytes; at + bytes <= range.end; at += step) {
      std::array<std::byte, PoolHead::kBytes> head;
      if (pools.size() == 2 * kSample || !reader.read(at, head).has_value()) continue;
      const std::optional<PoolHead> found = parse_pool_head(head, bytes);
      if (found && found->used > 0) pools.push_back({at, number_at<std::uint32_t>(head, kArenaNumberAt)});
    }
  }
  return pools;
}

class Proof {
 public:
  Proof(std::vector<Pool> pools, std::uint64_t pool_bytes, CachedReader& reader)
      : pools_(std::move(pools)), arena_bytes_(kPoolsOfArena * pool_bytes), reader_(reader) {}

  // Whether a table of arenas is at this address.
  [[nodiscard]] bool is_table(std::uint64_t table) {
    // Most words are refused by the first pool.
    if (!fits(table, pools_.front()) && !fits(table, pools_.back())) return false;
    const auto fitting =
        static_cast<std::size_t>(std::ranges::count_if(pools_, [&](const Pool& pool) { return fits(table, pool); }));
    return fitting >= kFewestPools && fitting * 10 >= pools_.size() * 9;
  }
  [[nodiscard]] std::uint32_t highest() const { return std::ranges::max_element(pools_, {}, &Pool::arena)->arena; }

 private:
  [[nodiscard]] bool fits(std::uint64_t table, const Pool& pool) {
    const auto begin = reader_.get<std::uint64_t>(table + kEntryBytes * pool.arena);
    return begin.has_value() && *begin % kPageBytes == 0 && *begin <= pool.address &&
           pool.address - *begin < arena_bytes_;
  }

  const std::vector<Pool> pools_;
  const std::uint64_t arena_bytes_;
  CachedReader& reader_;
};

bool may_hold_table(const AddressSpace& space, const PoolRegions& regions, std::uint64_t address) {
  if (address == 0 || address % 16 != 0 || regions.contains(address)) return false;
  const Mapping* mapping = space.map().at(address);
  return mapping != nullptr && mapping->is_writable && !mapping->is_shared && !mapping->has_file();
}

struct Place {
  std::uint64_t table = 0;      // what it points to
  std::uint64_t address = 0;    // where it is
  std::uint64_t following = 0;  // the word behind it
};

// By what they point to, so that neighbours are read together.
std::vector<Place> pointers_in(const AddressSpace& space, const PoolRegions& regions) {
  std::vector<Place> places;
  for (const Mapping& data : data_of_python(space)) {
    std::vector<std::byte> bytes(data.size());
    if (!space.read_present(data.begin, bytes).has_value()) continue;
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      const std::uint64_t word = number_at(bytes, at);
      if (may_hold_table(space, regions, word)) places.push_back({word, data.begin + at, number_at(bytes, at + 8)});
    }
  }
  std::ranges::sort(places, {}, &Place::table);
  return places;
}

// The number of entries, which begins with 16 and is doubled.
bool is_length(std::uint64_t word, std::uint32_t highest) {
  const auto length = static_cast<std::uint32_t>(word);
  return length > highest && length >= kFirstLength && (length & (length - 1)) == 0;
}

}  // namespace

Result<PoolTable> find_arena_table(const AddressSpace& space, const TypeTable& types, const PoolRegions& regions) {
  CachedReader reader(space, kMaxReadBytes, kReadBlock);
  std::vector<Pool> pools = sample_of(regions, reader);
  if (pools.size() < kFewestPools) return fail(ErrorCode::kUnsupported, "too few pools to prove the table of arenas");
  Proof proof(std::move(pools), regions.pool_bytes(), reader);
  std::vector<Place> found;
  std::uint64_t refused = 0;
  for (const Place& place : pointers_in(space, regions)) {
    const bool is_known = !found.empty() && found.back().table == place.table;
    if (!is_known && (place.table == refused || !proof.is_table(place.table))) {
      refused = place.table;
      continue;
    }
    found.push_back(place);
  }
  if (found.size() > 1) {
    std::erase_if(found, [&](const Place& place) { return !is_length(place.following, proof.highest()); });
  }
  if (found.size() != 1) {
    return fail(ErrorCode::kUnsupported, found.empty() ? "no pointer to the table of arenas was found"
                                                       : "two places may hold the pointer to the table of arenas");
  }
  PoolTable table;
  table.arenas = found.front().address;
  table.type_type = types.type_type();
  table.pool_bytes = static_cast<std::uint32_t>(regions.pool_bytes());
  return table;
}

}  // namespace oomw::cpython
