// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "base/clock.h"
#include "base/fair_queue.h"
#include "base/worker_pool.h"
#include "events/ids.h"

namespace oomw {

// Programs that wait to be inspected, in fair order (base/fair_queue.h): an executable may take seconds (9 s of CPU for
// a 2 MiB file of overlapping segments, or a file system that hangs), and a container may start thousands a second.
//   - One of a container's programs is inspected at a time; what waits is bounded in all and for each container.
//   - A container over its seconds waits until it has rested; what it starts meanwhile waits too, others do not.
//   - Workers run at a lower priority than the daemon's captures.
// Thread-safe. The workers are joined before this is destroyed, so they are declared after it; it keeps a reference.
class InspectionQueue {
 public:
  static constexpr std::size_t kMaxWaiting = 4'096;  // an exec storm of 2 s at 2,000 a second
  static constexpr std::size_t kMaxWaitingOfOne = 2'048;
  static constexpr Nanoseconds kSecondsOfOne = std::chrono::seconds(5);  // a minute
  using Inspect = std::function<void(ProcessKey, std::optional<MonotonicTime> exec_time)>;

  // `patience`: an inspection that takes longer hangs. `inspect` is called on the workers.
  InspectionQueue(WorkerPool& workers, std::size_t threads, Nanoseconds patience, const Clock& clock, Inspect inspect);

  // False: no place.
  [[nodiscard]] bool add(const ShareOwner& owner, ProcessKey process, std::optional<MonotonicTime> exec_time);
  void tick();  // about once a second: those that have rested go on
  [[nodiscard]] ShareExcess over_share() const;

 private:
  struct Waiting {
    ProcessKey process;
    std::optional<MonotonicTime> exec_time;
  };
  struct Pending {
    std::deque<Waiting> programs;
    bool has_job = false;  // waits in the queue, or runs
  };
  void run();  // worker thread
  [[nodiscard]] bool queue_locked(const ShareOwner& owner, Pending& pending);

  WorkerPool& workers_;
  const Clock& clock_;
  const Inspect inspect_;
  mutable std::mutex mutex_;
  FairQueue queue_;
  std::map<ShareOwner, Pending> pending_;
  std::map<std::uint64_t, ShareOwner> jobs_;
  std::size_t waiting_ = 0;
  std::uint64_t last_job_ = 0;
  ShareExcess over_share_;
};

}  // namespace oomw
