// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "elf/eh_frame.h"
#include "elf/elf_file.h"
#include "elf/symbol_table.h"
#include "growth/python_symbols.h"
#include "memory/byte_source.h"
#include "process/process_image.h"
#include "runtimes/go/symbolizer.h"
#include "runtimes/jvm/libjvm.h"
#include "runtimes/v8/constants.h"

namespace oomw::growth {

// A function at a place of Go's code, inlined ones too.
struct GoLine {
  std::string function;  // printable
  std::string file;      // printable, the last part of its path, or ""
  std::uint64_t line = 0;
};

// An executable file, parsed as far as samples need it, and kept from one batch to the next: the file itself is open
// only while a batch is worked on. One thread.
class CodeFile {
 public:
  static constexpr std::uint64_t kMaxRead = 192u << 20;  // in its whole life here
  static constexpr std::size_t kMaxRows = 8192, kMaxNames = 8192, kMaxTextsKept = 512;
  // Go's table: what is read of it, and steps of its programs (0.1 s of CPU), in the file's whole life here.
  static constexpr go::Symbolizer::Limits kMaxGo = {64u << 20, 4u << 20};
  static constexpr std::size_t kMaxGoLines = 16;         // of one address
  static constexpr std::uint64_t kMaxJumps = 16u << 10;  // looked at; 90 leave the evaluation loop of Debian's 3.14

  // file: x86-64 ELF; borrowed until close().
  [[nodiscard]] static Result<std::unique_ptr<CodeFile>> parse(int file);
  // The same bytes again, in the next batch.
  void open(int file) { source_.file = file; }
  // Pointers to rows and names end here.
  void close();

  // The link-time address of a byte of the file that is code.
  [[nodiscard]] std::optional<std::uint64_t> address_of(std::uint64_t file_offset) const;
  // Null: no unwinding entry has it, and Go's function table does not.
  [[nodiscard]] const elf::CfiRow* row(std::uint64_t address);
  [[nodiscard]] bool has_tables() const { return !frames_->is_empty(); }
  // Whether the instruction before this address is a call.
  [[nodiscard]] bool follows_call(std::uint64_t address) const;
  // "Session::put"; "" if it has no name.
  [[nodiscard]] const std::string& name_of(std::uint64_t address, std::uint64_t function);
  // Innermost first; none: not Go's code.
  [[nodiscard]] const std::vector<GoLine>& go_lines(std::uint64_t address);
  // Constant texts that a function refers to which has no name: code_texts.h.
  [[nodiscard]] const std::vector<std::string>& texts_of(std::uint64_t function);
  // Of its linker, in hex; "": it has none.
  [[nodiscard]] const std::string& build_id() const { return build_id_; }
  // Link-time addresses.
  [[nodiscard]] const PythonSymbols& python();
  // Of libjvm.so, at link-time addresses; none: no HotSpot.
  [[nodiscard]] const jvm::VmSymbols& java();
  // Of a program with V8; null: none, or one that does not describe itself.
  [[nodiscard]] const v8::Constants* v8();
  // What is loaded from it: link-time addresses.
  [[nodiscard]] const std::vector<elf::Segment>& segments() const { return elf_->segments(); }
  // Open while a batch is worked on.
  [[nodiscard]] int file() const { return source_.file; }
  [[nodiscard]] std::uint64_t own_bytes() const;
  // Cannot be read any more.
  [[nodiscard]] bool is_used_up() const { return reader_.is_used_up(); }

 private:
  struct Source final : ByteSource {
    int file = -1;
    [[nodiscard]] Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> out) const override {
      return FdSource(file).read_some(offset, out);
    }
  };
  CodeFile() : reader_(source_, kMaxRead, 8u << 10) {}
  // Of a function that no symbol names: whether it is a part of Python's evaluation loop.
  [[nodiscard]] bool is_python_evaluation(std::uint64_t function);
  [[nodiscard]] go::Symbolizer* go_table();
  [[nodiscard]] std::optional<elf::CfiRow> go_row(std::uint64_t address);

  Source source_;
  CachedReader reader_;
  std::optional<elf::File> elf_;
  std::optional<elf::EhFrame> frames_;
  std::string build_id_;
  std::optional<elf::SymbolTable> symbols_;            // when the first name is asked for
  std::optional<PythonSymbols> python_;                // when it is asked for
  std::optional<jvm::VmSymbols> java_;                 // when it is asked for
  std::optional<std::unique_ptr<v8::Constants>> v8_;   // when they are asked for; null: none
  std::optional<std::unique_ptr<go::Symbolizer>> go_;  // when an address has no unwinding entry; null: no Go program
  std::unordered_map<std::uint64_t, std::optional<elf::CfiRow>> rows_;
  std::unordered_map<std::uint64_t, std::string> names_;
  std::unordered_map<std::uint64_t, std::vector<GoLine>> go_lines_;
  std::unordered_map<std::uint64_t, std::vector<std::string>> texts_;
  std::uint64_t jumps_ = 0;
};

// The parsed files of a reader process, those that were used last; at most kMaxBytes of them. One thread.
class CodeFiles {
 public:
  static constexpr std::size_t kMaxFiles = 32;
  static constexpr std::uint64_t kMaxBytes = 32u << 20;

  // Null: not such a file. Stays valid until trim().
  [[nodiscard]] CodeFile* get(int file);
  // After a batch: closes all, drops the oldest over the bounds.
  void trim();

 private:
  struct Kept {
    FileIdentity identity;
    std::unique_ptr<CodeFile> file;  // null: not to be parsed
  };
  std::list<Kept> files_;  // the last used first
};

}  // namespace oomw::growth
