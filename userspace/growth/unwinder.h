// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "elf/cfi_row.h"
#include "growth/code_file.h"
#include "growth/run_time_code.h"

namespace oomw::growth {

// A mapped range of instructions.
struct CodeRange {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t file_offset = 0;
  std::string name;          // the file's last part, "[vdso]", "" for code that was made at run time; hostile
  CodeFile* file = nullptr;  // borrowed; null: no file, or none that can be read
  bool has_file = false;
};

// Where a process's code lies. Ranges in order, apart.
class CodeMap {
 public:
  explicit CodeMap(std::vector<CodeRange> ranges) : ranges_(std::move(ranges)) {}
  [[nodiscard]] const CodeRange* at(std::uint64_t address) const;
  [[nodiscard]] const std::vector<CodeRange>& ranges() const { return ranges_; }

 private:
  std::vector<CodeRange> ranges_;
};

struct NativeFrame {
  std::uint64_t pc = 0;
  const CodeRange* range = nullptr;  // null: not code
  std::uint64_t address = 0;         // in its file, of the instruction that runs or calls; 0: no file
  std::uint64_t function = 0;        // where it begins by the unwinding tables, 0: not known
  std::uint64_t method = 0;          // of code made at run time: RunTimeCode::Step
  bool is_exact = false;             // an interrupted instruction, not a return address
};

struct NativeStack {
  bool is_complete = false;         // to the thread's first frame
  std::vector<NativeFrame> frames;  // innermost first
};

// Finds the callers in a copied stack. By the compiler's tables where there are some; else, for code made at run time
// and for C libraries without tables, by the frame pointer or by searching the stack for a return address: accepted if
// it stands behind a call and the unwinding from there comes to the thread's first frame. A runtime that knows its
// code's frames is believed first, and where that does not come to the first frame the search is tried. kMaxSteps bound
// all of it.
class Unwinder {
 public:
  static constexpr int kMaxSteps = 4000, kMaxScans = 24;
  static constexpr std::size_t kMaxFrames = 256, kScannedWords = 256;

  // run_time: null: nobody. Borrows all of it.
  Unwinder(const CodeMap& map, const elf::StackCopy& stack, RunTimeCode* run_time = nullptr)
      : map_(map), stack_(stack), run_time_(run_time) {}
  [[nodiscard]] NativeStack unwind(const elf::Registers& registers);

 private:
  enum class End {
    kOutermost,  // the tables say so
    kNothing,    // code without tables, and no return address above it
    kBroken,
  };
  struct Place {
    elf::Registers registers{};
    bool is_exact = false;  // the instruction pointer is that of an interrupted instruction, not of a return
  };

  [[nodiscard]] End walk(Place place, int scans, std::vector<NativeFrame>& frames);
  [[nodiscard]] NativeFrame frame_at(const Place& place, const elf::CfiRow*& row) const;
  [[nodiscard]] std::optional<Place> step(const Place& place, const elf::CfiRow& row) const;
  [[nodiscard]] std::optional<Place> step_at_run_time(const Place& place, NativeFrame& frame) const;
  // Continues at a frame without tables.
  [[nodiscard]] End go_on_without(const Place& place, int scans, std::vector<NativeFrame>& frames);
  [[nodiscard]] std::optional<Place> by_frame_pointer(const Place& place) const;
  [[nodiscard]] End scan(const Place& place, int scans, std::vector<NativeFrame>& frames);
  [[nodiscard]] std::optional<Place> return_at(std::uint64_t address, const Place& place) const;
  [[nodiscard]] bool accept(const Place& place, int scans, std::vector<NativeFrame>& frames);

  const CodeMap& map_;
  const elf::StackCopy& stack_;
  RunTimeCode* run_time_;
  int steps_ = 0;
  // Where the runtime was believed first, and after how many frames.
  std::optional<std::pair<Place, std::size_t>> believed_;
};

}  // namespace oomw::growth
