// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "elf/cfi_row.h"
#include "events/growth_profile.h"

namespace oomw::growth {

// Who knows the frames of code that has no unwinding tables because a runtime made it.
class RunTimeCode {
 public:
  struct Step {
    elf::Registers caller{};
    std::uint64_t method = 0;  // what runs there as the runtime calls it; 0: the instruction tells
  };
  virtual ~RunTimeCode() = default;
  // The caller of an instruction. is_exact: it was interrupted, and is not a return address. Nothing: not its code, or
  // the copied stack does not have the caller.
  [[nodiscard]] virtual std::optional<Step> step(const elf::Registers& registers, bool is_exact,
                                                 const elf::StackCopy& stack) = 0;
  // The functions there, innermost first; none: not known. method: of the step from there.
  [[nodiscard]] virtual std::vector<GrowthFrame> frames_at(std::uint64_t pc, bool is_exact, std::uint64_t method) = 0;
};

// By the frame pointer: for code that keeps one.
[[nodiscard]] std::optional<elf::Registers> caller_by_frame_pointer(const elf::Registers& registers,
                                                                    const elf::StackCopy& stack);

}  // namespace oomw::growth
