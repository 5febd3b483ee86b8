// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/clock.h"

namespace oomw {

// Lets one big read in at a time, because each may hold 55 MB (60,000 buckets). A reader that has overstayed its
// deadline by kPatience hangs in somebody's page fault or file system (userfaultfd, FUSE) and will
// not grow any further: the next one is let in past it.
class ReadGate {
 public:
  static constexpr Nanoseconds kPatience = std::chrono::seconds(2);

  // Open while it lives.
  class Pass {
   public:
    Pass(ReadGate& gate, std::uint64_t number) : gate_(&gate), number_(number) {}
    ~Pass() { gate_->leave(number_); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    [[nodiscard]] bool is_in() const { return number_ != 0; }

   private:
    ReadGate* gate_;
    std::uint64_t number_;
  };

  explicit ReadGate(const Clock& clock) : clock_(clock) {}
  // Waits until `deadline` at most; the pass is not in when that was too long.
  [[nodiscard]] Pass enter(MonotonicTime deadline);

 private:
  void leave(std::uint64_t number);

  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable left_;
  std::uint64_t inside_ = 0;  // number of the pass that is in, 0 = none
  std::uint64_t last_ = 0;
  MonotonicTime inside_deadline_;
};

}  // namespace oomw
