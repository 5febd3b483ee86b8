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

// Where a Go process keeps its heap profile; 0 = not known, which only `buckets` may not be.
struct HeapAddresses {
  std::uint64_t buckets = 0;  // of runtime.mbuckets itself
  std::uint64_t rate = 0;
  std::uint64_t cycle = 0;
  std::uint64_t text = 0;
  std::uint32_t record_words = 0;  // 8 or 16 where proved while alive
};

// The walk at the kill, from user space: registers the processes to walk and takes the results. A process
// that execs or exits is forgotten by the kernel's programs themselves, so a lost event leaves
// nothing stale behind. Thread-safe: system calls on maps only.
class HeapWalks {
 public:
  // Puts all chunks into the pool. maps is only read here.
  [[nodiscard]] static Result<std::unique_ptr<HeapWalks>> make(const SharedMaps& maps, std::uint32_t chunk_count);
  ~HeapWalks();

  // kLimit: the map is full, counted by targets_lost(). A second call replaces the first.
  [[nodiscard]] Result<> watch(ProcessKey process, const HeapAddresses& addresses);
  // Only if the entry is this very process's.
  void unwatch(ProcessKey process);

  // Hands over the chunks of a walk in order and gives them back to the pool, also after an error.
  // Any thread, once a walk: kNotFound the second time.
  [[nodiscard]] Result<> take_chunks(const HeapWalked& walk,
                                     const std::function<void(std::span<const std::byte> records)>& chunk);
  // Walks whose event did not fit the ring and those not taken within a second, each until its chunks
  // are taken. Call about once a second.
  [[nodiscard]] std::vector<HeapWalked> unreported(MonotonicTime now);

  [[nodiscard]] std::uint64_t watched() const;  // entries; exact to within what exits meanwhile
  [[nodiscard]] std::uint64_t targets_lost() const;

 private:
  HeapWalks();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomw
