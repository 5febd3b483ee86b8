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
//   - a task may hang for good (a file system that never answers): relieve() gives such a thread up
//     and starts a spare in its place, max_spares at a time; if its task ends after all, it ends too;
//   - the destructor stops intake, runs what is queued, and joins. Where relieve() was ever called, a
//     task that takes longer than its patience is not waited for, and what is queued behind the last
//     of them is dropped. A thread that was given up has kParting to come back; after that it is left
//     to die with the process, which its owner should end soon: what its task borrowed is going;
//   - thread stacks are 256 KiB: RSS is budgeted.
class WorkerPool {
 public:
  static constexpr Nanoseconds kParting = std::chrono::seconds(1);

  WorkerPool(std::string name, unsigned threads, std::size_t capacity, unsigned max_spares = 0);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  [[nodiscard]] bool post(std::function<void()> task);
  // For an end that waits for nothing more: nothing is taken, and what is queued is dropped.
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
