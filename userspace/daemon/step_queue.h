// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>

#include "events/event.h"

namespace oomw {

// The one way through the daemon: all sources push their events here, and one step at a time takes them.
//   - push() never runs anything, so no source and no step is re-entered while it is at work. Events that a step
//     pushes go to the end;
//   - settle() runs when nothing waits: its decisions (orders, incidents) have all readings that were asked for;
//   - at most kMax events wait, further ones are counted: the walk at the start over 20,000 cgroups and 8,192
//     processes pushes 68,000, anything later a few dozen.
// Core thread.
class StepQueue {
 public:
  static constexpr std::size_t kMax = 131'072;
  using Step = std::function<void(const Event&)>;
  using Settle = std::function<void()>;

  StepQueue(Step step, Settle settle) : step_(std::move(step)), settle_(std::move(settle)) {}

  void push(Event event);
  // Handles every waiting event, and those that they push. Never call it from within a step.
  void run();
  // The same, then settle(), repeated until settle() pushes nothing.
  void run_and_settle();
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  const Step step_;
  const Settle settle_;
  std::deque<Event> waiting_;
  bool is_running_ = false;
  std::uint64_t dropped_ = 0;
};

}  // namespace oomw
