// SPDX-License-Identifier: Apache-2.0
#include "base/fair_queue.h"

#include <algorithm>
#include <utility>

namespace oomw {

FairQueue::Added FairQueue::add(std::uint64_t job, const ShareOwner& owner, MonotonicTime now) {
  const CostShare* share = find_share(owner);
  if (share != nullptr && !share->may_go(now)) {
    rested_.note(owner);
    return Added::kRests;
  }
  const auto mine = std::count_if(waiting_.begin(), waiting_.end(), [&](const Job& j) { return j.owner == owner; });
  if (waiting_.size() >= limits_.waiting || static_cast<std::size_t>(mine) >= limits_.waiting_of_one) {
    refused_.note(owner);
    return Added::kFull;
  }
  waiting_.push_back({job, owner, {}});
  return Added::kYes;
}

std::optional<std::uint64_t> FairQueue::next(MonotonicTime now) {
  auto best = waiting_.end();
  Nanoseconds least{0};
  for (auto it = waiting_.begin(); it != waiting_.end(); ++it) {
    const Nanoseconds used = used_by(it->owner, now);
    if (best != waiting_.end() && used >= least) continue;
    if (!may_run(it->owner, now)) continue;
    best = it;
    least = used;
  }
  if (best == waiting_.end()) return std::nullopt;
  Job job = std::move(*best);
  waiting_.erase(best);
  job.started = now;
  const std::uint64_t number = job.number;
  running_[number] = std::move(job);
  return number;
}

void FairQueue::ended(std::uint64_t job, Nanoseconds cost, MonotonicTime now) {
  const auto it = running_.find(job);
  if (it == running_.end()) return;
  share_of(it->second.owner, now).charge(cost, limits_.allowed, now);
  running_.erase(it);
}

bool FairQueue::has_any_of(const ShareOwner& owner) const {
  return std::any_of(waiting_.begin(), waiting_.end(), [&](const Job& job) { return job.owner == owner; }) ||
         std::any_of(running_.begin(), running_.end(), [&](const auto& job) { return job.second.owner == owner; });
}

bool FairQueue::may_run(const ShareOwner& owner, MonotonicTime now) const {
  const bool is_dear = is_costly(owner, now);
  std::size_t held = 0, held_by_space = 0, held_by_costly = 0;
  for (const auto& [number, job] : running_) {
    if (job.owner == owner) return false;
    if (now - job.started > limits_.patience) continue;  // hangs
    ++held;
    held_by_space += !owner.space.empty() && job.owner.space == owner.space;
    held_by_costly += is_costly(job.owner, now);
  }
  if (held >= limits_.workers) return false;
  if (limits_.workers == 1) return true;
  return held_by_space + 1 < limits_.workers && (!is_dear || held_by_costly + 1 < limits_.workers);
}

const CostShare* FairQueue::find_share(const ShareOwner& owner) const {
  auto it = shares_.find(owner);
  if (it == shares_.end() && shares_.size() >= kMaxOwners) it = shares_.find(ShareOwner{});
  return it == shares_.end() ? nullptr : &it->second;
}

Nanoseconds FairQueue::used_by(const ShareOwner& owner, MonotonicTime now) const {
  const CostShare* share = find_share(owner);
  return share == nullptr ? Nanoseconds::zero() : share->used(now);
}

bool FairQueue::is_costly(const ShareOwner& owner, MonotonicTime now) const {
  const CostShare* share = find_share(owner);
  return share != nullptr && (share->was_over(now) || share->used(now) > kCheap);
}

// More owners than are remembered share one account.
CostShare& FairQueue::share_of(const ShareOwner& owner, MonotonicTime now) {
  if (shares_.size() >= kMaxOwners && !shares_.contains(owner)) {
    std::erase_if(shares_, [&](const auto& entry) { return entry.second.is_idle(now); });
  }
  const bool has_room = shares_.size() < kMaxOwners || shares_.contains(owner);
  return shares_[has_room ? owner : ShareOwner{}];
}

}  // namespace oomw
