// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "elf/elf_file.h"
#include "runtimes/go/frame_table.h"
#include "runtimes/go/inline_tree.h"
#include "runtimes/go/pclntab.h"

namespace oomw::go {

// Where a place in Go's code has its return address.
struct StackPlace {
  elf::AddressRange function;      // as in the file
  std::uint32_t bytes = 0;         // from the stack pointer to the return address
  bool is_outermost = false;       // begins a stack: there is no return address
  bool is_on_other_stack = false;  // the stack pointer was switched: bytes lead nowhere
};

// Names for the program counters of heap buckets and stacks, from the executable's function table: works for
// stripped and PIE files, and after the process is gone, as long as the file is held open.
//
// - Names are whole, with their type arguments, as runtime/pprof writes them: the profiles can be compared.
// - Texts are valid UTF-8; a frame whose name finds no room in the pool is unknown. Nothing is decoded before it is
//   needed.
// Borrows the file, which must outlive it. One thread at a time.
class Symbolizer {
 public:
  // Over its life: what it reads of the file, and steps of pc-value programs (10 to 50 ns each).
  struct Limits {
    std::uint64_t bytes = std::uint64_t{4} << 30;
    std::uint64_t steps = std::numeric_limits<std::uint64_t>::max();
  };
  [[nodiscard]] static Result<std::unique_ptr<Symbolizer>> open(const ByteSource& file) { return open(file, {}); }
  [[nodiscard]] static Result<std::unique_ptr<Symbolizer>> open(const ByteSource& file, Limits limits);

  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;

  // The innermost frame of a return address, as in the file.
  [[nodiscard]] Frame frame(std::uint64_t pc);
  // That frame and the inlined callers around it, the physical function last; at most NamedFrames::kMaxChain.
  [[nodiscard]] std::vector<Frame> inlined_chain(std::uint64_t pc);

  // Of the instruction at this address, or of the call that contains it; nothing: not in Go's text.
  [[nodiscard]] std::optional<StackPlace> stack_place(std::uint64_t address) const;

  [[nodiscard]] const TextPool& texts() const { return texts_; }
  [[nodiscard]] std::uint64_t own_bytes() const;  // at most
  [[nodiscard]] bool has_inlining() const { return inline_tree_.has_value(); }

 private:
  Symbolizer(const ByteSource& file, Limits limits);

  [[nodiscard]] std::optional<std::uint32_t> function_name(std::uint32_t name_offset);
  [[nodiscard]] Frame frame_in(const FunctionRecord& function, std::uint64_t pc, std::uint64_t code_offset,
                               std::uint32_t name_offset);

  CachedReader reader_;
  std::optional<elf::File> elf_;
  std::optional<Pclntab> table_;
  std::optional<InlineTree> inline_tree_;
  std::uint64_t text_start_ = 0;

  TextPool texts_;
  std::unordered_map<std::uint32_t, std::uint32_t> names_;  // name offset -> text
};

// All that are wanted, at most NamedFrames::kMaxAddresses; past kMaxFrames each has but its innermost frame. An Error:
// the file has no function table that can be read.
[[nodiscard]] Result<NamedFrames> name_frames(const ByteSource& file, std::span<const WantedAddress> wanted);

}  // namespace oomw::go
