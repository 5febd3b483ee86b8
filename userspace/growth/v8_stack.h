// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "growth/python_code.h"
#include "growth/run_time_code.h"
#include "growth/unwinder.h"
#include "memory/cached_reader.h"
#include "runtimes/v8/names.h"
#include "runtimes/v8/shapes.h"

namespace oomw::growth {

// The program, or the library, with V8 among the mapped code; null: none that describes itself.
[[nodiscard]] CodeFile* find_v8(const std::vector<CodeRange>& code);

// What is known of a Node.js process. Bounded: 4 MiB.
struct KnownV8 {
  static constexpr std::size_t kMaxFunctions = 8192;
  static constexpr int kMaxTries = 256;  // at maps of maps

  std::uint64_t begin = 0;  // of the program that all else is of
  std::uint64_t fixed = 0;  // a map of maps: it stays where it is while the process lives
  v8::Shapes shapes;        // only these
  // By tagged address; without a name: different functions were there.
  std::unordered_map<std::uint64_t, GrowthFrame> functions;
  int tries = 0;
};

// The frames of a Node.js process for one batch: V8 keeps frame pointers, and below each of JavaScript's the function.
// Interpreted and compiled code alike; an inlined function cannot be told from the one that it is in. A function that
// the collector moved since the sample is not found, or another one is in its place. What earlier batches read is used
// only once the process is gone.
class V8Stack final : public RunTimeCode {
 public:
  static constexpr std::uint64_t kMaxRead = 16u << 20;  // for a batch

  V8Stack(KnownV8& known, const CodeMap& map, CodeFile& binary, const ByteSource& memory);

  [[nodiscard]] std::optional<Step> step(const elf::Registers& registers, bool is_exact,
                                         const elf::StackCopy& stack) override;
  // "learn" of "suggestions.js", "<anonymous>"
  [[nodiscard]] std::vector<GrowthFrame> frames_at(std::uint64_t pc, bool is_exact, std::uint64_t method) override;

 private:
  // Maps are known by the map of maps, which any object leads to: since V8 12 one of each context, and one of V8's own.
  void learn(std::uint64_t object);
  [[nodiscard]] std::optional<GrowthFrame> read_frame(std::uint64_t function);
  void keep(std::uint64_t function, const GrowthFrame& frame);

  KnownV8& known_;
  const CodeMap& map_;
  CodeFile& binary_;
  CachedReader reader_;
  v8::ConstructorNames names_;
  std::unordered_map<std::uint64_t, std::vector<GrowthFrame>> read_;  // in this batch
  bool is_gone_ = false;
};

}  // namespace oomw::growth
