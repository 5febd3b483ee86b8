// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace oomw {

// A few named threads over one bounded queue, for everything with a long tail (HTTP, disk).
//   - post() is callable anywhere; false = queue full, the task is dropped, the caller counts it;
//   - results go back by EventLoop::post(), never by shared state;
//   - the destructor stops intake, runs what is queued, and joins;
//   - thread stacks are 256 KiB: RSS is budgeted.
class WorkerPool {
 public:
  WorkerPool(std::string name, unsigned threads, std::size_t capacity);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  [[nodiscard]] bool post(std::function<void()> task);
  [[nodiscard]] std::size_t queued() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomw
