// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/result.h"
#include "base/stall_meter.h"

namespace oomw {

// Identifies an fd watch or a timer of one loop; 0 is none.
struct WatchId {
  std::uint64_t value = 0;
  friend auto operator<=>(const WatchId&, const WatchId&) = default;
};

// epoll over fds, timers and posted tasks: the heart of the core thread.
//   - run() blocks in the calling thread, which becomes the owner, until stop();
//   - plain methods only on the owner thread (or before run()); post() and stop() anywhere;
//   - posted tasks run in the order posted; the queue is bounded (kMaxPosted), post() returns
//     false when it is full and the task is dropped: the caller counts it;
//   - callbacks may add and remove watches, also their own;
//   - the task of set_after_each() runs after each callback and task: it handles what they only noted down;
//   - timers are CLOCK_MONOTONIC; a late periodic timer fires once, it does not catch up.
// Not a thread pool: a callback that blocks, blocks everything.
class EventLoop {
 public:
  using Task = std::function<void()>;
  using FdCallback = std::function<void(std::uint32_t epoll_events)>;

  static constexpr std::size_t kMaxPosted = 16384;

  [[nodiscard]] static Result<std::unique_ptr<EventLoop>> make();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // The fd stays the caller's; remove the watch before closing it. events: EPOLLIN, EPOLLPRI ...
  [[nodiscard]] Result<WatchId> add_fd(int fd, std::uint32_t epoll_events, FdCallback callback);
  [[nodiscard]] WatchId add_periodic(Nanoseconds interval, Task task);
  [[nodiscard]] WatchId add_once(Nanoseconds delay, Task task);
  void remove(WatchId id);  // unknown ids are ignored

  void set_after_each(Task task);

  void run();
  void stop();
  bool post(Task task);

  // True on the thread inside run(), and everywhere before run().
  [[nodiscard]] bool is_owner() const;

  // Of the turns: from what epoll reported to the next wait. Any thread.
  [[nodiscard]] const StallMeter& stalls() const;

 private:
  EventLoop();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomw
