// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/event_loop.h"
#include "base/worker_pool.h"

namespace oomw {

// Readings that may take for ever, on threads of their own: the core thread must not wait for memory or a file system
// that somebody else holds up.
//   - ask(), settle() and the destructor: core thread. What a reading returns runs there;
//   - one reading at a time for each owner, so that one whose readings hang holds one thread and its own readings.
//     After kPatience that thread is given up and replaced, `spares` times;
//   - at most max_waiting readings wait, max_per_owner of one owner; further ones, and results later than max_age, are
//     counted in lost().
class SlowReadings {
 public:
  static constexpr Nanoseconds kPatience = std::chrono::seconds(1);

  struct Limits {
    unsigned threads = 1;
    unsigned spares = 1;  // owners that may hang before the others' readings do
    std::size_t max_waiting = 0;
    std::size_t max_per_owner = 0;
    Nanoseconds max_age{};  // from ask() to its result
  };
  // Runs on the core thread, if the owner of this still exists; null: there is nothing to tell.
  using Tell = std::function<void()>;
  // Runs on a worker, and may outlive this object and all that belongs to the core thread.
  using Reading = std::function<Tell()>;

  // name: of the threads.
  SlowReadings(EventLoop& loop, const Clock& clock, std::string name, Limits limits);
  ~SlowReadings();
  SlowReadings(const SlowReadings&) = delete;
  SlowReadings& operator=(const SlowReadings&) = delete;

  // owner: who pays for a reading that hangs; any text that containers do not share.
  void ask(const std::string& owner, Reading reading);
  // Waits until all that was asked for is done, or for `patience`, and tells it. For the time before the loop runs.
  void settle(Nanoseconds patience);
  // Readings that were not made, came too late, or hang.
  [[nodiscard]] std::uint64_t lost() const;

 private:
  struct Shared;

  EventLoop& loop_;
  const Clock& clock_;
  std::shared_ptr<Shared> shared_;  // also held by threads that were given up
  std::unique_ptr<WorkerPool> pool_;
  WatchId relief_;
};

}  // namespace oomw
