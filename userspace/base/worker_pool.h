// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"

namespace oomw {

// A few named threads over one bounded queue, for everything with a long tail (HTTP, disk).
//   - post() is callable anywhere; false = queue full, the task is dropped, the caller counts it;
//   - results go back by EventLoop::post(), never by shared state;
//   - a task may hang for ever (a file system that never answers): relieve() gives up such a thread and starts a
//     spare in its place, max_spares at a time; if the task ends after all, its thread ends too;
//   - the destructor stops intake, runs the queued tasks, and joins. If relieve() was ever called, the destructor does
//     not wait for tasks that take longer than the `patience` given there; if they hold the last thread, the tasks
//     queued behind them are dropped. A given-up thread has kParting to return, then it is detached until the process
//     ends. Once it returns it uses what its task borrowed: an owner for whom that matters asks finish() first;
//   - thread stacks are 256 KiB: RSS is budgeted.
class WorkerPool {
 public:
  static constexpr Nanoseconds kParting = std::chrono::seconds(1);

  WorkerPool(std::string name, unsigned threads, std::size_t capacity, unsigned max_spares = 0);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  [[nodiscard]] bool post(std::function<void()> task);
  // What the destructor does first. False: a thread hangs on, so nothing that its task borrowed may be destroyed.
  [[nodiscard]] bool finish();
  // For a stop that waits for nothing more: no task is accepted, and the queued ones are dropped.
  void close();
  [[nodiscard]] std::size_t queued() const;
  // Gives up threads whose task takes longer than `patience`. Any thread, about once a second.
  void relieve(MonotonicTime now, Nanoseconds patience);
  [[nodiscard]] std::uint64_t given_up() const;  // since the start

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  // shared with threads that were given up
};

}  // namespace oomw
