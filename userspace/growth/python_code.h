// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "growth/known_processes.h"
#include "growth/python_symbols.h"
#include "growth/unwound.h"
#include "memory/byte_source.h"
#include "memory/cached_reader.h"

namespace oomw::growth {

// A process's memory, read only where a private anonymous page is present, so that reading charges nothing and brings
// nothing back. Borrows both files.
class PresentMemory final : public ByteSource {
 public:
  // /proc/PID/mem, /proc/PID/pagemap.
  PresentMemory(int memory, int page_map) : memory_(memory), page_map_(page_map) {}
  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> out) const override;

 private:
  int memory_, page_map_;
};

// A code object: what its frames are shown with.
struct PythonCode {
  static constexpr std::size_t kMaxName = 160, kMaxPath = 1024, kMaxLineTable = 16u << 10;
  static constexpr std::size_t kMaxTuple = 4096;  // a larger one is none

  std::string function;  // "Cache.put"
  std::string file;      // "shop.py"
  std::uint64_t first_line = 0, first_instruction = 0;
  std::string line_table;
  PythonLines lines = PythonLines::kLocations;
  bool is_library = false;
  bool is_interpreters = false;        // made by the interpreter for itself: no function of the program
  std::vector<std::string> uses = {};  // globals and attributes that it refers to; not of a library's
};

// The line of an instruction, as a frame has it; 0: not known.
[[nodiscard]] std::uint64_t line_of(const PythonCode& code, std::uint64_t instruction);
// "Cache.put", "main.<locals>.<lambda>": identifiers with dots, and the compiler's own words. Anything else may be a
// user's data.
[[nodiscard]] bool is_python_name(std::string_view text);

// Of the language or an installed package.
[[nodiscard]] bool is_library_path(std::string_view path);

// CPython 3.8 to 3.14. Reads objects of the types that the symbols name, nothing else.
class PythonReader {
 public:
  static constexpr std::uint64_t kMaxRead = 16u << 20;

  // symbols: addresses in the process.
  PythonReader(const PythonSymbols& symbols, const ByteSource& memory)
      : symbols_(symbols),
        at_(symbols.offsets.value_or(PythonOffsets{})),
        reader_(memory, kMaxRead, CachedReader::kLeastCost) {}

  // Proved: the thread that ran last is one of the main interpreter's, the id in its state is a thread pointer (which
  // points to itself), and the frames of a thread have nothing but code objects. Nothing as long as that does not hold.
  [[nodiscard]] std::optional<PythonLayout> layout();
  // A frame's reference to its code, as an address: since 3.14 the lowest bits say who owns it.
  [[nodiscard]] static std::uint64_t address_of(std::uint64_t code) { return code & ~std::uint64_t{7}; }
  // What stands for the code of a frame that the interpreter has for itself.
  [[nodiscard]] bool is_none(std::uint64_t code) const { return symbols_.none != 0 && code == symbols_.none; }
  // Nothing: no code object, or its name is none.
  [[nodiscard]] std::optional<PythonCode> code_at(std::uint64_t address);

 private:
  [[nodiscard]] std::uint64_t word(std::uint64_t address) { return reader_.get<std::uint64_t>(address).value_or(0); }
  [[nodiscard]] bool is_of(std::uint64_t object, std::uint64_t type) { return object != 0 && word(object + 8) == type; }
  [[nodiscard]] std::string text_at(std::uint64_t object, std::size_t most);
  [[nodiscard]] std::string bytes_at(std::uint64_t object, std::size_t most);
  [[nodiscard]] std::vector<std::string> identifiers_at(std::uint64_t tuple);
  [[nodiscard]] std::uint64_t main_interpreter();
  [[nodiscard]] bool has_proved_frames(std::uint64_t thread);
  [[nodiscard]] bool has_proved_threads(std::uint64_t interpreter, std::uint64_t holder);

  PythonSymbols symbols_;
  PythonOffsets at_;
  CachedReader reader_;
};

// Code objects of processes by their addresses, so that samples of a process that died are named by what was read
// before. Bounded; one thread.
class PythonCodes {
 public:
  static constexpr std::size_t kMaxProcesses = 8, kMaxCodes = 1024;
  using Known = KnownProcesses<std::map<std::uint64_t, PythonCode>, kMaxProcesses>;
  using Process = Known::Process;

  // As it is now, if it can be read; else as it was. Null: never read. Valid until the next call.
  [[nodiscard]] const PythonCode* get(Process process, std::uint64_t address, PythonReader* reader);

 private:
  Known processes_;
};

}  // namespace oomw::growth
