// SPDX-License-Identifier: Apache-2.0
#include "kernel/heap_walks.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>

#include <bpf/bpf.h>
#include <oomwitness/goheap.h>

#include "events/decode.h"
#include "kernel/shared_maps.h"

namespace oomw {

namespace {

constexpr std::uint32_t kMaxFirstChunks = 24;
// A mark follows its signal, and the taking of chunks follows its event, within milliseconds.
constexpr std::uint64_t kPatienceNs = 1'000'000'000;
// A victim may be throttled or stuck in a driver for long before it exits.
constexpr std::uint64_t kLongestDyingNs = 120'000'000'000;

bool is_of(const oomw_go_slot& slot, const HeapWalked& walk) {
  return slot.walk.started_ns == static_cast<std::uint64_t>(walk.started.ns) &&
         slot.target.start_ticks == walk.process.start_ticks;
}

bool is_done(const oomw_go_slot& slot) { return (slot.state & OOMW_GO_SLOT_DONE) != 0; }
bool is_marked(const oomw_go_slot& slot) { return (slot.state & OOMW_GO_SLOT_MARKED) != 0; }

std::uint64_t age_ns(const oomw_go_slot& slot, MonotonicTime now) {
  auto since = is_done(slot) ? slot.walk.header.time_ns : slot.made_ns;
  auto at = static_cast<std::uint64_t>(now.ns);
  return at > since ? at - since : 0;
}

// Chunks [0, n) are reserved for the beginning of walks: one per victim of an OOM decision, for 24 at once.
std::uint32_t first_chunk_count(std::uint32_t chunk_count) { return std::min(chunk_count / 2, kMaxFirstChunks); }

// What the programs rely on: they mask offsets, and read a goroutine from its own address in it up to its reason.
bool are_readable(const HeapAddresses& addresses) {
  constexpr std::uint32_t kOwnAddressEnds = 80;
  return addresses.status_offset % 4 == 0 && addresses.status_offset >= kOwnAddressEnds &&
         addresses.reason_offset >= addresses.status_offset + 4 && addresses.reason_offset < OOMW_GO_G_BYTES;
}

constexpr std::uint32_t kPoolBytes = 16u << 10, kOldPoolBytes = 4u << 10;  // the programs take it for a power of two

constexpr std::size_t kChunkHeaderBytes = OOMW_GO_CHUNK_BYTES - OOMW_GO_CHUNK_DATA_BYTES;

}  // namespace

struct HeapWalks::Impl {
  UniqueFd targets, walks, chunks, free_chunks, first_chunks;
  std::uint32_t chunk_count = 0;
  std::atomic<std::uint64_t> targets_lost = 0;
  // Held from reading a slot or target to deleting it: the pid's next owner has the same key.
  std::mutex mutex;

  std::optional<oomw_go_slot> slot(std::uint32_t tgid) const;
  std::vector<std::uint32_t> slot_keys() const;
  Result<> watch(ProcessKey process, const oomw_go_target& target);
  // True for one caller only, which then owns the chunks.
  bool release_slot(const HeapWalked& walk);
  Result<> hand_over(const HeapWalked& walk, const std::function<void(std::span<const std::byte>)>& chunk);
  bool give_back(std::uint32_t number);
  void drop(std::uint32_t tgid, const oomw_go_slot& slot);
};

std::optional<oomw_go_slot> HeapWalks::Impl::slot(std::uint32_t tgid) const {
  oomw_go_slot slot;
  if (bpf_map_lookup_elem(walks.get(), &tgid, &slot) != 0) return std::nullopt;
  return slot;
}

Result<> HeapWalks::Impl::watch(ProcessKey process, const oomw_go_target& target) {
  std::uint32_t tgid = tgid_of(process);
  if (bpf_map_update_elem(targets.get(), &tgid, &target, BPF_ANY) == 0) return {};
  int error = errno;
  ++targets_lost;
  if (error == E2BIG) return fail(ErrorCode::kLimit, "more processes than are watched");
  return fail_errno(error, "watching a process");
}

std::vector<std::uint32_t> HeapWalks::Impl::slot_keys() const {
  constexpr std::size_t kMost = 1024;  // entries come and go meanwhile; the map has fewer
  std::vector<std::uint32_t> keys;
  std::uint32_t key = 0, next = 0;
  const std::uint32_t* previous = nullptr;
  while (keys.size() < kMost && bpf_map_get_next_key(walks.get(), previous, &next) == 0) {
    keys.push_back(next);
    key = next;
    previous = &key;
  }
  return keys;
}

bool HeapWalks::Impl::release_slot(const HeapWalked& walk) {
  std::lock_guard lock(mutex);
  std::uint32_t tgid = tgid_of(walk.process);
  auto found = slot(tgid);
  if (!found || !is_done(*found) || !is_of(*found, walk)) return false;
  return bpf_map_delete_elem(walks.get(), &tgid) == 0;
}

bool HeapWalks::Impl::give_back(std::uint32_t number) {
  const bool is_first = number < first_chunk_count(chunk_count);
  return bpf_map_update_elem((is_first ? first_chunks : free_chunks).get(), nullptr, &number, BPF_ANY) == 0;
}

// A chunk's header is checked although only our programs write it: a mistake here would put a chunk
// into the pool twice.
Result<> HeapWalks::Impl::hand_over(const HeapWalked& walk,
                                    const std::function<void(std::span<const std::byte>)>& chunk) {
  std::vector<std::byte> bytes(OOMW_GO_CHUNK_BYTES);
  std::uint32_t number = walk.first_chunk;
  for (std::uint32_t taken = 0; taken < walk.chunk_count; ++taken) {
    if (number >= chunk_count) return fail(ErrorCode::kInvalid, "chunk " + std::to_string(number) + " of a walk");
    if (bpf_map_lookup_elem(chunks.get(), &number, bytes.data()) != 0) return fail_errno(errno, "reading a chunk");
    oomw_go_chunk header;
    std::memcpy(static_cast<void*>(&header), bytes.data(), kChunkHeaderBytes);
    if (header.started_ns != static_cast<std::uint64_t>(walk.started.ns) || header.used > OOMW_GO_CHUNK_DATA_BYTES) {
      return fail(ErrorCode::kInvalid, "chunk " + std::to_string(number) + " is not of this walk");
    }
    (void)give_back(number);
    chunk(std::span(bytes).subspan(kChunkHeaderBytes, header.used));
    number = header.next;
  }
  return {};
}

HeapWalks::HeapWalks() : impl_(std::make_unique<Impl>()) {}
HeapWalks::~HeapWalks() = default;

Result<std::unique_ptr<HeapWalks>> HeapWalks::make(const SharedMaps& maps, std::uint32_t chunk_count) {
  std::unique_ptr<HeapWalks> heap(new HeapWalks());
  Impl& impl = *heap->impl_;
  impl.targets = copy_fd(maps.fd("go_targets"));
  impl.walks = copy_fd(maps.fd("go_walks"));
  impl.chunks = copy_fd(maps.fd("go_chunks"));
  impl.free_chunks = copy_fd(maps.fd("go_free_chunks"));
  impl.first_chunks = copy_fd(maps.fd("go_first_chunks"));
  for (const UniqueFd* fd : {&impl.targets, &impl.walks, &impl.chunks, &impl.free_chunks, &impl.first_chunks}) {
    if (!fd->is_valid()) return fail_errno(errno, "maps of the walk");
  }
  impl.chunk_count = chunk_count;
  for (std::uint32_t number = 0; number < chunk_count; ++number) {
    if (!impl.give_back(number)) return fail_errno(errno, "filling the pool");
  }
  return heap;
}

Result<> HeapWalks::watch(ProcessKey process, const HeapAddresses& addresses) {
  if (process.pid <= 0 || addresses.buckets == 0) return fail(ErrorCode::kInvalid, "no process or no list");
  oomw_go_target target{
      .start_ticks = process.start_ticks,
      .buckets = addresses.buckets,
      .rate = addresses.rate,
      .cycle = addresses.cycle,
      .text = addresses.text,
      .owner = addresses.owner == 0 ? 0 : addresses.owner | OOMW_GO_OWNER,
      .record_words = addresses.record_words,
      .goroutine_status = static_cast<std::uint16_t>(addresses.status_offset),
      .goroutine_reason = static_cast<std::uint16_t>(addresses.reason_offset),
      .goroutines = are_readable(addresses) ? addresses.goroutines : 0,
      .pools = {},
  };
  std::lock_guard lock(impl_->mutex);
  return impl_->watch(process, target);
}

Result<> HeapWalks::watch_pools(ProcessKey process, const PoolAddresses& addresses) {
  const bool is_known_size = addresses.pool_bytes == kPoolBytes || addresses.pool_bytes == kOldPoolBytes;
  if (process.pid <= 0 || addresses.arenas == 0 || !is_known_size) {
    return fail(ErrorCode::kInvalid, "no process or no pools");
  }
  oomw_go_target target{};
  target.start_ticks = process.start_ticks;
  target.owner = addresses.owner == 0 ? 0 : addresses.owner | OOMW_GO_OWNER;
  target.pools = {addresses.arenas, addresses.type_type, addresses.pool_bytes, 0};
  std::lock_guard lock(impl_->mutex);
  std::uint32_t tgid = tgid_of(process);
  oomw_go_target known;
  const bool is_go = bpf_map_lookup_elem(impl_->targets.get(), &tgid, &known) == 0 &&
                     known.start_ticks == process.start_ticks && known.buckets != 0;
  if (is_go) return fail(ErrorCode::kUnavailable, "its Go heap is watched");
  return impl_->watch(process, target);
}

void HeapWalks::unwatch(ProcessKey process) {
  std::lock_guard lock(impl_->mutex);
  std::uint32_t tgid = tgid_of(process);
  oomw_go_target target;
  if (bpf_map_lookup_elem(impl_->targets.get(), &tgid, &target) != 0) return;
  if (target.start_ticks == process.start_ticks) bpf_map_delete_elem(impl_->targets.get(), &tgid);
}

Result<> HeapWalks::take_chunks(const HeapWalked& walk, const std::function<void(std::span<const std::byte>)>& chunk) {
  if (!impl_->release_slot(walk)) return fail(ErrorCode::kNotFound, "no such walk, or taken already");
  return impl_->hand_over(walk, chunk);
}

namespace {

std::optional<HeapWalked> to_event(const oomw_go_walk& raw) {
  auto event = decode(std::as_bytes(std::span(&raw, 1)));
  if (!event) return std::nullopt;
  return std::get<HeapWalked>(std::move(*event));
}

}  // namespace

// The walk was not of an OOM kill, or never began: it is not reported, but its chunks return to the pool.
void HeapWalks::Impl::drop(std::uint32_t tgid, const oomw_go_slot& slot) {
  auto walk = is_done(slot) ? to_event(slot.walk) : std::nullopt;
  if (walk) {
    if (release_slot(*walk)) (void)hand_over(*walk, [](std::span<const std::byte>) {});
    return;
  }
  std::lock_guard lock(mutex);
  auto found = this->slot(tgid);
  if (found && !is_done(*found) && found->made_ns == slot.made_ns) bpf_map_delete_elem(walks.get(), &tgid);
}

std::vector<HeapWalked> HeapWalks::unreported(MonotonicTime now) {
  std::vector<HeapWalked> found;
  for (std::uint32_t tgid : impl_->slot_keys()) {
    auto slot = impl_->slot(tgid);
    if (!slot || age_ns(*slot, now) < kPatienceNs) continue;
    if (is_done(*slot) && is_marked(*slot)) {
      if (auto walk = to_event(slot->walk)) found.push_back(std::move(*walk));
    } else if (is_done(*slot) || age_ns(*slot, now) > kLongestDyingNs) {
      impl_->drop(tgid, *slot);
    }
  }
  return found;
}

std::uint64_t HeapWalks::watched() const {
  std::uint64_t count = 0;
  std::uint32_t key = 0, next = 0;
  const std::uint32_t* previous = nullptr;
  constexpr std::uint64_t kMost = 1u << 20;
  while (count < kMost && bpf_map_get_next_key(impl_->targets.get(), previous, &next) == 0) {
    key = next;
    previous = &key;
    ++count;
  }
  return count;
}

std::uint64_t HeapWalks::targets_lost() const { return impl_->targets_lost; }

}  // namespace oomw
