// SPDX-License-Identifier: Apache-2.0
// Names of return addresses: what is asked of a program's function table, what it answers, and the stacks made of that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace oomw::go {

// A logical frame. Its texts lie where it came from.
struct Frame {
  std::uint64_t pc = 0;        // a return address
  std::uint32_t function = 0;  // number of a text; 0 = ""
  std::uint32_t file = 0;
  std::int32_t line = 0;  // 0 = unknown
  bool is_known = false;  // false: function is "" and the pc lies outside Go's text
};

// A return address whose name is wanted, as in the executable. At the end of a stack the inlined callers around it are
// wanted too, since the runtime may have cut the stack inside an inlined call.
struct WantedAddress {
  std::uint64_t pc = 0;
  bool ends_stack = false;
};

// What a function table knows of some of them.
struct NamedFrames {
  static constexpr std::size_t kMaxAddresses = 256U << 10, kMaxFrames = 512U << 10;
  static constexpr std::size_t kMaxChain = 101;  // of one address: the innermost frame and 100 inlined callers

  std::vector<std::string> texts;     // valid UTF-8
  std::vector<Frame> frames;          // of one address after the other, the innermost frame first
  std::vector<std::uint32_t> counts;  // how many each address has, at least one; in the order they were wanted in
};

// Distinct texts by number, the first of them "".
class TextPool {
 public:
  static constexpr std::size_t kMaxTexts = 256U << 10, kMaxBytes = 16U << 20;

  TextPool() { (void)intern(""); }
  TextPool(const TextPool&) = delete;
  TextPool& operator=(const TextPool&) = delete;

  [[nodiscard]] std::optional<std::uint32_t> intern(const std::string& text);  // nothing: there is no room
  [[nodiscard]] const std::string& text(std::uint32_t number) const { return *texts_[number]; }
  [[nodiscard]] std::vector<std::string> all() const;
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::vector<const std::string*> texts_;  // keys of numbers_
  std::size_t bytes_ = 0;
};

// The names that are known of one program: each return address is asked for once, however many stacks it is in. At most
// NamedFrames::kMaxAddresses of them and what fits a TextPool; the frames past that are unknown, and counted.
class FrameTable {
 public:
  // The addresses of a stack that are not known yet are wanted().
  void want(std::span<const std::uint64_t> pcs, std::uint64_t load_bias);
  [[nodiscard]] const std::vector<WantedAddress>& wanted() const { return wanted_; }
  // The answer to wanted(), which is empty afterwards.
  void add(const NamedFrames& named);

  // A bucket's stack as runtime/pprof shows it, leaf first: without leading frames of the runtime (unless nothing would
  // be left) and without runtime.goexit. It holds one return address per *logical* frame, so each gives one frame, the
  // innermost; only the last is expanded.
  [[nodiscard]] std::vector<Frame> stack(std::span<const std::uint64_t> pcs, std::uint64_t load_bias) const;
  [[nodiscard]] const std::string& text(std::uint32_t number) const { return texts_.text(number); }
  [[nodiscard]] std::uint64_t unknown_frames() const { return unknown_frames_; }

 private:
  struct Place {
    std::uint32_t first = 0, count = 0;  // in frames_
    std::optional<std::uint32_t> wanted_at;
    bool has_callers = false;
  };
  void want(std::uint64_t pc, bool ends_stack);
  [[nodiscard]] std::span<const Frame> frames_of(std::uint64_t pc) const;
  [[nodiscard]] bool is_runtime(const Frame& frame) const;

  std::unordered_map<std::uint64_t, Place> places_;  // by the address in the executable
  std::vector<WantedAddress> wanted_;
  std::vector<Frame> frames_;
  TextPool texts_;
  std::uint64_t unknown_frames_ = 0;
};

}  // namespace oomw::go
