// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "runtimes/go/frame_table.h"
#include "runtimes/go/inline_tree.h"
#include "runtimes/go/pclntab.h"

namespace oomw::go {

// Names for the program counters of heap buckets, from the executable's function table: works for
// stripped and PIE files, and after the process is gone, as long as the file is held open.
//
// - Names are whole, with their type arguments, as runtime/pprof writes them: the profiles can be compared.
// - Texts are valid UTF-8; a frame whose name finds no room in the pool is unknown. Nothing is decoded before it is
//   needed.
// Borrows the file, which must outlive it. One thread at a time.
class Symbolizer {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Symbolizer>> open(const ByteSource& file);

  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;

  // The innermost frame of a return address, as in the file.
  [[nodiscard]] Frame frame(std::uint64_t pc);
  // That frame and the inlined callers around it, the physical function last; at most NamedFrames::kMaxChain.
  [[nodiscard]] std::vector<Frame> inlined_chain(std::uint64_t pc);

  [[nodiscard]] const TextPool& texts() const { return texts_; }
  [[nodiscard]] bool has_inlining() const { return inline_tree_.has_value(); }

 private:
  explicit Symbolizer(const ByteSource& file);

  [[nodiscard]] std::optional<std::uint32_t> function_name(std::uint32_t name_offset);
  [[nodiscard]] Frame frame_in(const FunctionRecord& function, std::uint64_t pc, std::uint64_t code_offset,
                               std::uint32_t name_offset);

  CachedReader reader_;
  std::optional<ElfFile> elf_;
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
