// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/clock.h"

namespace oomw {

// Admits one big read at a time, because each may hold 55 MB (60,000 buckets). A reader that is kPatience past its
// deadline hangs in a page fault or file system (userfaultfd, FUSE) and will not grow any further: the next one is let
// in beside it.
class ReadGate {
 public:
  static constexpr Nanoseconds kPatience = std::chrono::seconds(2);

  // The gate is open for its holder while it lives.
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
  // Waits until `deadline` at most; after that the pass is not in.
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
