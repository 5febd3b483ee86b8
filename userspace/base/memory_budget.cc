// SPDX-License-Identifier: Apache-2.0
#include "base/memory_budget.h"

#include <algorithm>

namespace oomw {

void MemoryBudget::Lease::give_back() {
  if (budget_ != nullptr) budget_->give_back(bytes_);
  budget_ = nullptr;
}

void MemoryBudget::add_locked(std::uint64_t bytes) {
  taken_ += bytes;
  peak_ = std::max(peak_, taken_);
}

std::optional<MemoryBudget::Lease> MemoryBudget::try_take(std::uint64_t bytes, std::uint64_t leave_bytes) {
  const std::lock_guard lock(mutex_);
  if (leave_bytes > total_ || bytes > total_ - leave_bytes || taken_ > total_ - leave_bytes - bytes) {
    return std::nullopt;
  }
  add_locked(bytes);
  return std::make_optional<Lease>(*this, bytes);
}

std::optional<MemoryBudget::Lease> MemoryBudget::take(std::uint64_t bytes, Nanoseconds patience) {
  bytes = std::min(bytes, total_);
  std::unique_lock lock(mutex_);
  if (!freed_.wait_for(lock, patience, [&] { return taken_ <= total_ - bytes; })) return std::nullopt;
  add_locked(bytes);
  return std::make_optional<Lease>(*this, bytes);
}

void MemoryBudget::give_back(std::uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    taken_ -= bytes;
  }
  freed_.notify_all();
}

std::uint64_t MemoryBudget::taken() const {
  const std::lock_guard lock(mutex_);
  return taken_;
}

std::uint64_t MemoryBudget::peak() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

}  // namespace oomw
