// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "runtimes/go/inline_tree.h"
#include "runtimes/go/pclntab.h"

namespace oomw::go {

// A logical frame. Texts live in the Symbolizer.
struct Frame {
  std::uint64_t pc = 0;        // as recorded: a return address in the process
  std::uint32_t function = 0;  // Symbolizer::text
  std::uint32_t file = 0;
  std::int32_t line = 0;  // 0 = unknown
  bool is_known = false;  // false: function is "" and the pc lies outside Go's text
};

// Names for the program counters of heap buckets, from the executable's function table: works for
// stripped and PIE files, and after the process is gone, as long as the file is held open.
//
// - Bucket stacks hold one return address per *logical* frame, so each gives one frame, the innermost at pc-1; only the
//   last is expanded, since the runtime may have cut the stack inside an inlined call.
// - Type arguments are "[...]", as the runtime prints them, or whole, as runtime/pprof writes them.
// - Texts are valid UTF-8 and interned, at most kMaxTextBytes of them; past that, frames are unknown and counted.
//   Nothing is decoded before it is needed.
// Borrows the file, which must outlive it. One thread at a time.
class Symbolizer {
 public:
  static constexpr std::size_t kMaxTextBytes = 16U << 20;
  static constexpr std::size_t kMaxCachedFrames = 256U << 10;

  enum class TypeArguments { kShortened, kWhole };
  [[nodiscard]] static Result<std::unique_ptr<Symbolizer>> open(
      const ByteSource& file, TypeArguments type_arguments = TypeArguments::kShortened);

  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;

  // The innermost frame of a return address; load_bias as the process had it.
  [[nodiscard]] Frame frame(std::uint64_t pc, std::uint64_t load_bias);
  // That frame and the inlined callers around it, the physical function last.
  [[nodiscard]] std::vector<Frame> inlined_chain(std::uint64_t pc, std::uint64_t load_bias);
  // A bucket's stack as runtime/pprof shows it, leaf first: without leading frames of the runtime
  // (unless nothing would be left) and without runtime.goexit.
  [[nodiscard]] std::vector<Frame> stack(std::span<const std::uint64_t> pcs, std::uint64_t load_bias);

  [[nodiscard]] const std::string& text(std::uint32_t id) const { return *texts_[id]; }
  [[nodiscard]] bool has_inlining() const { return inline_tree_.has_value(); }
  [[nodiscard]] std::uint64_t unknown_frames() const { return unknown_frames_; }

 private:
  Symbolizer(const ByteSource& file, TypeArguments type_arguments);

  [[nodiscard]] std::optional<std::uint32_t> intern(const std::string& text);
  [[nodiscard]] std::optional<std::uint32_t> function_name(std::uint32_t name_offset);
  [[nodiscard]] Frame resolve(std::uint64_t pc, std::uint64_t code_offset);
  [[nodiscard]] Frame frame_in(const FunctionRecord& function, std::uint64_t pc, std::uint64_t code_offset,
                               std::uint32_t name_offset);
  [[nodiscard]] bool is_runtime(const Frame& frame) const;

  const TypeArguments type_arguments_;
  CachedReader reader_;
  std::optional<ElfFile> elf_;
  std::optional<Pclntab> table_;
  std::optional<InlineTree> inline_tree_;
  std::uint64_t text_start_ = 0;

  std::map<std::string, std::uint32_t, std::less<>> ids_;
  std::vector<const std::string*> texts_;                   // keys of ids_
  std::unordered_map<std::uint32_t, std::uint32_t> names_;  // name offset -> text
  std::unordered_map<std::uint64_t, Frame> frames_;         // by code offset
  std::size_t text_bytes_ = 0;
  std::uint64_t unknown_frames_ = 0;
};

}  // namespace oomw::go
