// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/cost_share.h"
#include "base/fair_share.h"

namespace oomw {

// In which order a few workers serve many containers. Jobs are numbers that the caller gives; it runs what next()
// returns and says when that has ended.
//   - One job of a container runs at a time, and a namespace never holds all workers, unless there is one only.
//   - Those that used more than kCheap of the last minute never hold all workers together: one is left for the others.
//   - Next is a job of the container that used the least; ties go to the one that came first.
//   - Who used more than `allowed` within a minute rests, see CostShare.
//   - A job that runs for longer than `patience` hangs: its worker is given up (WorkerPool::relieve()), so it holds its
//     container's place and no worker.
// Pure; for one thread, or under the owner's lock.
class FairQueue {
 public:
  static constexpr std::size_t kMaxWaiting = 64;
  static constexpr std::size_t kMaxWaitingOfOne = 3;
  static constexpr std::size_t kMaxOwners = 1'024;
  static constexpr Nanoseconds kCheap = std::chrono::seconds(1);

  struct Limits {
    std::size_t workers = 1;
    Nanoseconds allowed = std::chrono::seconds(6);
    Nanoseconds patience = std::chrono::seconds(10);
    std::size_t waiting = kMaxWaiting;
    std::size_t waiting_of_one = kMaxWaitingOfOne;
  };
  explicit FairQueue(Limits limits) : limits_(limits) {}

  enum class Added { kYes, kRests, kFull };
  [[nodiscard]] Added add(std::uint64_t job, const ShareOwner& owner, MonotonicTime now);
  // A job to run now; the caller asks again until there is none.
  [[nodiscard]] std::optional<std::uint64_t> next(MonotonicTime now);
  void ended(std::uint64_t job, Nanoseconds cost, MonotonicTime now);
  [[nodiscard]] bool has_any_of(const ShareOwner& owner) const;
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

  [[nodiscard]] const ShareExcess& refused() const { return refused_; }  // for want of a place
  [[nodiscard]] const ShareExcess& rested() const { return rested_; }

 private:
  struct Job {
    std::uint64_t number = 0;
    ShareOwner owner;
    MonotonicTime started{};  // once it runs
  };
  [[nodiscard]] CostShare& share_of(const ShareOwner& owner, MonotonicTime now);
  [[nodiscard]] const CostShare* find_share(const ShareOwner& owner) const;
  [[nodiscard]] Nanoseconds used_by(const ShareOwner& owner, MonotonicTime now) const;
  [[nodiscard]] bool is_costly(const ShareOwner& owner, MonotonicTime now) const;
  [[nodiscard]] bool may_run(const ShareOwner& owner, MonotonicTime now) const;

  const Limits limits_;
  std::vector<Job> waiting_;  // oldest first
  std::map<std::uint64_t, Job> running_;
  std::map<ShareOwner, CostShare> shares_;
  ShareExcess refused_, rested_;
};

}  // namespace oomw
