// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/clock.h"

namespace oomw {

// Bytes that a few threads share for what is large and short-lived. Who wants to hold much takes a
// lease of about that much first, and gives it back with the lease.
//   - the leases of one moment never exceed `total`; more than that at once is cut down to `total`:
//     it may go ahead, alone;
//   - bytes are a promise: nothing is allocated or measured here.
// Thread-safe; outlives its leases.
class MemoryBudget {
 public:
  class Lease {
   public:
    Lease(MemoryBudget& budget, std::uint64_t bytes) : budget_(&budget), bytes_(bytes) {}
    ~Lease() { give_back(); }
    Lease(Lease&& other) noexcept : budget_(other.budget_), bytes_(other.bytes_) { other.budget_ = nullptr; }
    Lease& operator=(Lease&&) = delete;
    void give_back();  // early; nothing the second time

   private:
    MemoryBudget* budget_;
    std::uint64_t bytes_;
  };

  explicit MemoryBudget(std::uint64_t total_bytes) : total_(total_bytes) {}

  // Nothing if less is free now. `leave_bytes`: of the total, for others.
  [[nodiscard]] std::optional<Lease> try_take(std::uint64_t bytes, std::uint64_t leave_bytes = 0);
  // Waits for others to give back, for `patience` at most.
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
