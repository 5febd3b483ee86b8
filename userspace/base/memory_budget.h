// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/clock.h"

namespace oomw {

// A byte budget that a few threads share for large, short-lived data. A caller first takes a lease of about the size
// that it will hold, and the bytes return with the lease.
//   - the leases never exceed `total` together; take() cuts a larger request down to `total`, so that it runs alone;
//   - the bytes are a promise: nothing is allocated or measured here.
// Thread-safe; outlives its leases.
class MemoryBudget {
 public:
  class Lease {
   public:
    Lease(MemoryBudget& budget, std::uint64_t bytes) : budget_(&budget), bytes_(bytes) {}
    ~Lease() { give_back(); }
    Lease(Lease&& other) noexcept : budget_(other.budget_), bytes_(other.bytes_) { other.budget_ = nullptr; }
    Lease& operator=(Lease&&) = delete;
    void give_back();  // early; a second call does nothing

   private:
    MemoryBudget* budget_;
    std::uint64_t bytes_;
  };

  explicit MemoryBudget(std::uint64_t total_bytes) : total_(total_bytes) {}

  // nullopt if less is free now. `leave_bytes` of the total must stay free for others.
  [[nodiscard]] std::optional<Lease> try_take(std::uint64_t bytes, std::uint64_t leave_bytes = 0);
  // Waits at most `patience` for others to give bytes back.
  [[nodiscard]] std::optional<Lease> take(std::uint64_t bytes, Nanoseconds patience);
  [[nodiscard]] std::uint64_t taken() const;
  [[nodiscard]] std::uint64_t peak() const;

 private:
  void add_locked(std::uint64_t bytes);
  void give_back(std::uint64_t bytes);

  const std::uint64_t total_;
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::uint64_t taken_ = 0, peak_ = 0;
};

}  // namespace oomw
