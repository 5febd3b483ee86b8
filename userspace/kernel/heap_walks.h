// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "events/event.h"

namespace oomw {

class SharedMaps;

// Where a Go process keeps its heap profile. 0 = not known, which `buckets` must not be.
struct HeapAddresses {
  std::uint64_t buckets = 0;  // address of runtime.mbuckets itself
  std::uint64_t rate = 0;
  std::uint64_t cycle = 0;
  std::uint64_t text = 0;
  std::uint32_t record_words = 0;  // 8 or 16 if proved while the process was alive
  std::uint64_t owner = 0;         // processes with the same number share a budget; 0: with their cgroup
  std::uint64_t goroutines = 0;    // address of runtime.allgs
  std::uint32_t status_offset = 0, reason_offset = 0;  // in a g
};

// Where a CPython process keeps its pools.
struct PoolAddresses {
  std::uint64_t arenas = 0;      // address of its pointer to the table of arenas
  std::uint64_t type_type = 0;   // address of the type of types
  std::uint32_t pool_bytes = 0;  // 4 or 16 KiB
  std::uint64_t owner = 0;       // as in HeapAddresses
};

// The user-space side of the walk at the kill: registers the processes to walk and takes the results. The BPF programs
// themselves remove a process that execs or exits, so a lost event leaves nothing stale behind. Thread-safe: system
// calls on maps only.
class HeapWalks {
 public:
  // Puts all chunks into the pool. maps is only read here.
  [[nodiscard]] static Result<std::unique_ptr<HeapWalks>> make(const SharedMaps& maps, std::uint32_t chunk_count);
  ~HeapWalks();

  // kLimit: the map is full, counted by targets_lost(). A second call replaces the first.
  [[nodiscard]] Result<> watch(ProcessKey process, const HeapAddresses& addresses);
  // The same for a Python process. kUnavailable: it is watched for a Go heap, which comes first.
  [[nodiscard]] Result<> watch_pools(ProcessKey process, const PoolAddresses& addresses);
  // Does nothing if the entry belongs to another process.
  void unwatch(ProcessKey process);

  // Hands over the chunks of a walk in order and returns them to the pool, also after an error. Any thread, once per
  // walk: kNotFound the second time.
  [[nodiscard]] Result<> take_chunks(const HeapWalked& walk,
                                     const std::function<void(std::span<const std::byte> records)>& chunk);
  // Walks whose event did not fit the ring, and those not taken within a second. Each is listed until its chunks are
  // taken. Call about once a second.
  [[nodiscard]] std::vector<HeapWalked> unreported(MonotonicTime now);

  [[nodiscard]] std::uint64_t watched() const;  // number of entries; exact except for processes that exit meanwhile
  [[nodiscard]] std::uint64_t targets_lost() const;

 private:
  HeapWalks();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomw
