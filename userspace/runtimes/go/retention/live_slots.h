// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtimes/go/retention/goroutines.h"

namespace oomw::go::retention {

// Whose variable a slot is: of frames[frame], or of none that is known where that is the end.
struct LiveSlot {
  std::size_t frame = 0;
  bool is_argument = false;  // what it was called with, which another holds, too, as a rule
};

// Which words of a goroutine's stack are live, by the rules of the collector: those that a stack map names, and the
// variables whose address is taken, as long as something live refers to them. A table that was read and dropped lies on
// in its frame, and its memory is another's long since.
// Borrows all that it is given. One thread.
class LiveSlots {
 public:
  static constexpr std::size_t kMaxVariables = 4096;

  // stack: its bytes from g.stack_top() on.
  LiveSlots(Goroutines& goroutines, Image& image, CachedReader& memory, const Goroutine& g,
            std::span<const std::byte> stack);

  // Empty while it runs.
  [[nodiscard]] const std::vector<StackFrame>& frames() const { return frames_; }
  // nullopt: what the slot holds is dead.
  [[nodiscard]] std::optional<LiveSlot> find(std::uint64_t slot);

 private:
  // A variable whose address is taken.
  struct Variable {
    std::uint64_t begin = 0, end = 0;
    LiveSlot owner;
    bool is_live = false;
  };

  [[nodiscard]] std::optional<std::uint64_t> word_at(std::uint64_t address) const;
  [[nodiscard]] std::optional<LiveSlot> in_stack_map(std::uint64_t slot);
  [[nodiscard]] bool is_set(const StackFrame& frame, std::uint32_t table, std::uint64_t base, bool is_below,
                            std::uint64_t slot);
  void find_variables();
  void add_variables(std::size_t frame);
  void refer_from_deferred_calls();
  void refer_to(std::uint64_t address);
  [[nodiscard]] Variable* variable_at(std::uint64_t address);

  Goroutines& goroutines_;
  Image& image_;
  CachedReader& memory_;
  const Goroutine& g_;
  std::span<const std::byte> stack_;
  std::uint64_t base_;  // address of stack_
  std::vector<StackFrame> frames_;
  std::optional<std::vector<Variable>> variables_;  // by address, once they were asked for
  std::vector<Variable*> to_visit_;
};

}  // namespace oomw::go::retention
