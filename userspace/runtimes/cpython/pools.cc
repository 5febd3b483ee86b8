// SPDX-License-Identifier: Apache-2.0
#include "runtimes/cpython/pools.h"

#include <algorithm>
#include <bitset>
#include <cstring>
#include <optional>

#include "runtimes/native/words.h"

namespace oomw::cpython {
namespace {

using native::number_at;

constexpr std::uint64_t kAlignment = 16, kMaxBlock = 512;
constexpr std::array<std::uint64_t, 2> kPoolBytes = {16u << 10, 4u << 10};
constexpr std::size_t kMaxBlocks = (16u << 10) / kAlignment;
constexpr int kProbes = 4;  // of a block of the region search

bool may_hold_pools(const Mapping& mapping) {
  const bool is_nameless = mapping.name.empty() || mapping.name.starts_with("[anon:");
  return is_nameless && mapping.is_writable && !mapping.is_shared && !mapping.has_file();
}

bool is_pool_at(const AddressSpace& space, std::uint64_t address, std::uint64_t pool_bytes) {
  std::array<std::byte, PoolHead::kBytes> head;
  const Result<std::size_t> n = space.read_some(address, head);
  return n.has_value() && *n == head.size() && parse_pool_head(head, pool_bytes).has_value();
}

std::uint64_t up_to(std::uint64_t value, std::uint64_t step) { return (value + step - 1) / step * step; }

// The end of the last sound pool among those in [begin, end); begin if there is none. all: looks at each.
std::uint64_t end_of_pools(const AddressSpace& space, PageRange block, std::uint64_t pool_bytes, bool all) {
  const std::uint64_t first = up_to(block.begin, pool_bytes);
  if (first + pool_bytes > block.end) return block.begin;
  const std::uint64_t pools = (block.end - first) / pool_bytes;
  const std::uint64_t step = all ? 1 : std::max<std::uint64_t>(1, pools / kProbes);
  std::uint64_t end = block.begin;
  for (std::uint64_t i = 0; i < pools; i += step) {
    if (!is_pool_at(space, first + i * pool_bytes, pool_bytes)) continue;
    end = first + (i + 1) * pool_bytes;
    if (!all) break;
  }
  return end;
}

std::vector<PageRange> regions_with(const AddressSpace& space, std::uint64_t pool_bytes) {
  std::vector<PageRange> found;
  for (const Mapping& mapping : space.map().mappings()) {
    if (!may_hold_pools(mapping)) continue;
    for (std::uint64_t at = mapping.begin; at < mapping.end;) {
      const auto present = space.present().ranges_in(at, mapping.end);
      if (present.empty()) break;
      at = std::max(at, present.front().begin);
      const std::uint64_t end = std::min(mapping.end, up_to(at + 1, PoolRegions::kBlockBytes));
      const PageRange block{at, end};
      at = end;
      if (end_of_pools(space, block, pool_bytes, false) == block.begin) continue;
      if (!found.empty() && found.back().end == block.begin) {
        found.back().end = block.end;
      } else {
        found.push_back(block);
      }
    }
  }
  return found;
}

// What follows the last pool of a region may belong to somebody else.
void trim(const AddressSpace& space, std::uint64_t pool_bytes, std::vector<PageRange>& ranges) {
  for (PageRange& range : ranges) {
    const std::uint64_t last =
        std::max(range.begin, (range.end - 1) / PoolRegions::kBlockBytes * PoolRegions::kBlockBytes);
    range.end = std::max(end_of_pools(space, {last, range.end}, pool_bytes, true), last);
  }
}

// A key table of a dict: 3.11 and later; the size, then the bytes of the index, then the kind of entries.
bool is_key_table(std::span<const std::uint64_t> words, std::uint64_t bytes) {
  if (bytes < 64 || words[0] == 0 || words[0] > (1u << 20)) return false;
  const auto log2_size = words[1] & 0xff, log2_index = words[1] >> 8 & 0xff, kind = words[1] >> 16 & 0xff;
  const bool is_new = log2_size >= 3 && log2_size < 30 && log2_index >= log2_size && log2_index <= log2_size + 3 &&
                      kind <= 2 && (words[1] >> 24 & 0xff) == 0;
  const bool is_old = words[1] >= 8 && words[1] < (1u << 30) && (words[1] & (words[1] - 1)) == 0 &&
                      words[3] + words[4] == words[1] * 2 / 3;
  return is_new || is_old;
}

}  // namespace

std::optional<PoolHead> parse_pool_head(std::span<const std::byte> bytes, std::uint64_t pool_bytes) {
  const auto class_number = number_at<std::uint32_t>(bytes, 36), next = number_at<std::uint32_t>(bytes, 40);
  const auto last = number_at<std::uint32_t>(bytes, 44);
  if (class_number >= kMaxBlock / kAlignment) return std::nullopt;
  PoolHead head;
  head.block_bytes = (class_number + 1) * kAlignment;
  const bool is_sound = last == pool_bytes - head.block_bytes && next >= PoolHead::kBytes + head.block_bytes &&
                        next <= pool_bytes && (next - PoolHead::kBytes) % head.block_bytes == 0;
  if (!is_sound) return std::nullopt;
  head.carved = (next - PoolHead::kBytes) / head.block_bytes;
  head.used = number_at<std::uint32_t>(bytes, 0);
  head.first_free = number_at(bytes, 8);
  return head.used <= head.carved ? std::optional(head) : std::nullopt;
}

Result<PoolRegions> PoolRegions::find(const AddressSpace& space) {
  std::vector<PageRange> best;
  std::uint64_t best_pool = 0, best_bytes = 0;
  for (const std::uint64_t pool_bytes : kPoolBytes) {
    std::vector<PageRange> found = regions_with(space, pool_bytes);
    trim(space, pool_bytes, found);
    std::uint64_t bytes = 0;
    for (const PageRange& range : found) bytes += range.size();
    if (bytes <= best_bytes) continue;
    best = std::move(found);
    best_pool = pool_bytes;
    best_bytes = bytes;
  }
  if (best.empty()) return fail(ErrorCode::kNotFound, "no pools of Python's allocator");
  std::erase_if(best, [](const PageRange& range) { return range.size() == 0; });
  return PoolRegions(std::move(best), best_pool);
}

std::uint64_t PoolRegions::claim(std::uint64_t begin, std::uint64_t end) const {
  const auto after = std::ranges::upper_bound(ranges_, begin, {}, &PageRange::end);
  if (after == ranges_.end() || after->begin > begin) return begin;
  return std::min(after->end, end);
}

std::uint64_t PoolRegions::next(std::uint64_t begin, std::uint64_t end) const {
  const auto found = std::ranges::upper_bound(ranges_, begin, {}, &PageRange::begin);
  return found == ranges_.end() ? end : std::min(found->begin, end);
}

bool PoolRegions::contains(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(ranges_, address, {}, &PageRange::end);
  return after != ranges_.end() && after->begin <= address;
}

void ObjectCensus::keep_container(Counted& into, const BigContainer& container) {
  const auto by_entries = [](const BigContainer& a, const BigContainer& b) { return a.entries > b.entries; };
  into.containers.push_back(container);
  std::ranges::push_heap(into.containers, by_entries);
  if (into.containers.size() <= kMaxContainers) return;
  std::ranges::pop_heap(into.containers, by_entries);
  into.containers.pop_back();
}

// Behind the code and a list of weak references, or since 3.12 the latter alone, there are its name and its full name:
// in that place each function has a text of its own.
void ObjectCensus::note_call(Counted& into, std::uint64_t object, std::uint64_t bytes, const TypeInfo& type,
                             std::span<const std::uint64_t> words) {
  constexpr std::size_t kName = 4;
  if (words.size() <= kName) return;
  const std::pair key{&type, words[kName]};
  if (into.calls.size() >= kMaxCallGroups && !into.calls.contains(key)) return;
  CallGroup& group = into.calls[key];
  ++group.count;
  group.bytes += bytes;
  if (group.known.size() < CallGroup::kMaxKnown) group.known.push_back(object);
}

void ObjectCensus::note(Counted& into, std::uint64_t object, std::uint64_t bytes, const TypeInfo& type,
                        std::span<const std::uint64_t> words) {
  if (type.layout == Layout::kModule && into.modules.size() < kMaxModules) into.modules.push_back(object);
  if (type.has_frame) note_call(into, object, bytes, type, words);
  std::uint64_t entries = 0;
  const bool has_size = type.layout == Layout::kList || type.layout == Layout::kDict || type.layout == Layout::kDeque;
  if (words.size() > 3 && has_size) entries = words[2];
  if (words.size() > 3 && type.layout == Layout::kSet) entries = words[3];
  if (entries >= kManyEntries && entries < (std::uint64_t{1} << 36)) keep_container(into, {object, entries, &type});
}

void ObjectCensus::count(Counted& into, std::uint64_t address, std::uint64_t bytes,
                         std::span<const std::uint64_t> words) {
  for (std::size_t head = 0; head + 2 <= words.size() && head * 8 + 16 <= bytes && head <= 4; head += 2) {
    // A count of 32 bits, above it what versions keep there.
    if (static_cast<std::uint32_t>(words[head]) == 0 || regions_.contains(words[head + 1])) continue;
    const TypeInfo* type = types_.at(words[head + 1]);
    if (type == nullptr || type->head_bytes() / 8 < head) continue;
    if (type->layout != Layout::kStr && type->basic_bytes + head * 8 > bytes) continue;
    TypeAmount& amount = into.amounts[type];
    ++amount.count;
    amount.bytes += bytes;
    if (type->is_heap_type()) amount.first = address + head * 8;
    note(into, address + head * 8, bytes, *type, words.subspan(head));
    return;
  }
  if (words.size() < 5 || !is_key_table(words, bytes)) return;
  ++into.key_tables.count;
  into.key_tables.bytes += bytes;
}

void ObjectCensus::chunk(std::uint64_t address, std::uint64_t bytes, std::span<const std::uint64_t, kWords> words) {
  count(pending_, address, bytes, words);
}

void ObjectCensus::keep() {
  const auto add = [](TypeAmount& sum, const TypeAmount& amount) {
    sum.count += amount.count;
    sum.bytes += amount.bytes;
    if (amount.first != 0) sum.first = amount.first;
    sum.squares += static_cast<double>(amount.bytes) * static_cast<double>(amount.bytes);
  };
  for (const auto& [type, amount] : pending_.amounts) add(kept_.amounts[type], amount);
  add(kept_.key_tables, pending_.key_tables);
  add(kept_.free, pending_.free);
  for (const BigContainer& container : pending_.containers) keep_container(kept_, container);
  for (const std::uint64_t module : pending_.modules) {
    if (kept_.modules.size() < kMaxModules) kept_.modules.push_back(module);
  }
  for (const auto& [key, group] : pending_.calls) {
    if (kept_.calls.size() >= kMaxCallGroups && !kept_.calls.contains(key)) continue;
    CallGroup& into = kept_.calls[key];
    into.count += group.count;
    into.bytes += group.bytes;
    for (const std::uint64_t call : group.known) {
      if (into.known.size() < CallGroup::kMaxKnown) into.known.push_back(call);
    }
  }
  pending_ = {};
}

// A pool is sound if blocks in use and blocks of the free list are all that were carved from it.
void ObjectCensus::scan_pool(std::uint64_t address, std::span<const std::byte> bytes, Counted& into) {
  const std::optional<PoolHead> head = parse_pool_head(bytes, regions_.pool_bytes());
  if (!head) return;
  std::bitset<kMaxBlocks> is_free;
  std::uint64_t free_blocks = 0;
  for (std::uint64_t next = head->first_free; next != 0; ++free_blocks) {
    const std::uint64_t offset = next - address - PoolHead::kBytes, index = offset / head->block_bytes;
    const bool is_sound = next >= address + PoolHead::kBytes && offset % head->block_bytes == 0 &&
                          index < head->carved && !is_free.test(index);
    if (!is_sound) return void(++bad_pools_);
    is_free.set(index);
    next = number_at(bytes, next - address);
  }
  if (free_blocks + head->used != head->carved) return void(++bad_pools_);
  ++pools_;
  into.free.bytes += head->used == 0 ? regions_.pool_bytes() : free_blocks * head->block_bytes;
  for (std::uint64_t i = 0; i < head->carved; ++i) {
    if (is_free.test(i)) continue;
    const std::uint64_t offset = PoolHead::kBytes + i * head->block_bytes;
    std::array<std::uint64_t, 8> words{};
    const std::size_t count_of_words = std::min<std::size_t>(head->block_bytes / 8, words.size());
    std::memcpy(words.data(), bytes.data() + offset, count_of_words * 8);
    pool_block_bytes_ += head->block_bytes;
    const std::span<const std::uint64_t> seen(words.data(), count_of_words);
    count(into, address + offset, head->block_bytes, seen);
  }
}

Result<> ObjectCensus::sample_pools(SampleRate rate) {
  std::vector<std::byte> bytes(regions_.pool_bytes());
  SampleChoice choice(rate);
  for (const PageRange& range : regions_.ranges()) {
    for (std::uint64_t at = up_to(range.begin, bytes.size()); at + bytes.size() <= range.end; at += bytes.size()) {
      ++sampled_.all;
      if (!choice.takes_next()) continue;
      ++sampled_.read;
      RETURN_IF_ERROR(space_.read_present(at, bytes));
      begin();
      scan_pool(at, bytes, pending_);
      keep();
    }
  }
  return {};
}

Result<> ObjectCensus::scan_pools(SampleRate rate) {
  if (!rate.is_whole()) return sample_pools(rate);
  std::vector<std::byte> window(PoolRegions::kBlockBytes);
  const std::uint64_t pool = regions_.pool_bytes();
  for (const PageRange& range : regions_.ranges()) {
    for (std::uint64_t at = up_to(range.begin, pool); at + pool <= range.end; at += window.size()) {
      const std::uint64_t bytes = std::min<std::uint64_t>(window.size(), (range.end - at) / pool * pool);
      RETURN_IF_ERROR(space_.read_present(at, std::span(window).first(bytes)));
      for (std::uint64_t offset = 0; offset < bytes; offset += pool) {
        scan_pool(at + offset, std::span<const std::byte>(window).subspan(offset, pool), kept_);
      }
    }
  }
  return {};
}

std::vector<BigContainer> ObjectCensus::containers() const {
  std::vector<BigContainer> sorted = kept_.containers;
  std::ranges::sort(sorted, [](const BigContainer& a, const BigContainer& b) { return a.entries > b.entries; });
  return sorted;
}

}  // namespace oomw::cpython
