// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "memory/cached_reader.h"
#include "runtimes/go/retention/image.h"

namespace oomw::go::retention {

inline constexpr std::uint32_t kScanBit = 0x1000;  // of a status: its stack is being read by the collector

enum class GoroutineState : std::uint8_t { kIdle, kRunnable, kRunning, kSyscall, kWaiting, kOther };
[[nodiscard]] std::string_view to_string(GoroutineState state);

struct Goroutine {
  std::uint64_t address = 0;  // of its g
  std::uint64_t id = 0;
  std::uint64_t stack_low = 0, stack_high = 0;
  std::uint64_t sp = 0, pc = 0;  // where it waits; meaningless while it runs
  std::uint64_t start_pc = 0, created_at_pc = 0;
  GoroutineState state = GoroutineState::kOther;

  // Lowest address of the stack that is in use; all of it while that is not known.
  [[nodiscard]] std::uint64_t stack_top() const {
    return state == GoroutineState::kRunning || sp < stack_low || sp >= stack_high ? stack_low : sp;
  }
};

// One physical frame on a stack.
struct StackFrame {
  std::uint64_t low = 0, high = 0;  // high: above the return address
  const Function* function = nullptr;
  std::uint64_t pc = 0;
};

// All goroutines of a process, from outside.
//
// - The list is found in the code of the runtime's function that extends it, and proved by the data: a missing root set
//   would give wrong holders, not none.
// - Offsets that moved between versions are chosen by what the data bears out.
// - Unwinding uses the compiler's own tables. Which words of a stack are live is for LiveSlots.
// Borrows image and memory. One thread.
class Goroutines {
 public:
  static constexpr std::size_t kMaxGoroutines = 200'000;
  static constexpr std::uint64_t kMaxStackBytes = 64U << 20;  // of one goroutine; larger stacks are read up to there
  static constexpr std::size_t kMaxFrames = 64;

  [[nodiscard]] static Result<Goroutines> locate(Image& image, CachedReader& memory);
  // Reads the list anew.
  [[nodiscard]] Result<> refresh();

  [[nodiscard]] const std::vector<Goroutine>& all() const { return all_; }
  [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t g_address) const;
  [[nodiscard]] std::uint64_t not_read() const { return not_read_; }
  [[nodiscard]] std::uint64_t list_address() const { return list_; }
  [[nodiscard]] std::uint64_t function_data() const { return function_data_; }  // what FUNCDATA counts from
  [[nodiscard]] std::size_t status_offset() const { return layout_.status; }

  // `stack`: its bytes from stack_top() on. Empty while it runs.
  [[nodiscard]] std::vector<StackFrame> unwind(const Goroutine& g, std::span<const std::byte> stack);
  // Bytes from stack_top() on.
  [[nodiscard]] std::vector<std::byte> read_stack(const Goroutine& g);

 private:
  struct Layout {
    std::size_t status = 0, syscall_sp = 0, start_pc = 0;
  };
  Goroutines(Image& image, CachedReader& memory) : image_(&image), memory_(&memory) {}
  [[nodiscard]] bool is_list(std::uint64_t address);
  [[nodiscard]] Result<> find_layout();
  [[nodiscard]] std::optional<std::uint64_t> find_function_data();

  Image* image_;
  CachedReader* memory_;
  std::uint64_t list_ = 0;
  Layout layout_;
  std::uint64_t function_data_ = 0;
  std::vector<Goroutine> all_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_address_;
  std::unordered_map<std::uint64_t, std::optional<std::uint32_t>> frame_bytes_;  // by pc
  std::uint64_t not_read_ = 0;
};

}  // namespace oomw::go::retention
