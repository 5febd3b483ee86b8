// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "growth/python_code.h"
#include "growth/unwinder.h"
#include "memory/byte_source.h"
#include "runtimes/jvm/java_code.h"
#include "runtimes/jvm/jvm.h"

namespace oomw::growth {

// Bytes of a file at an address of the process.
struct MappedBytes {
  std::uint64_t begin = 0, end = 0, file_offset = 0;
  int file = -1;  // borrowed
};

// A process's memory without side effects on it: what is private, anonymous and present; else what the mapped files
// have there. Borrows the files.
class ImageMemory final : public ByteSource {
 public:
  ImageMemory(const PresentMemory& memory, std::vector<MappedBytes> files)
      : memory_(memory), files_(std::move(files)) {}
  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> out) const override;

 private:
  const PresentMemory& memory_;
  std::vector<MappedBytes> files_;
};

// Where HotSpot is among the mapped code; without symbols: nowhere.
struct JavaImage {
  jvm::VmSymbols symbols;          // addresses in the process
  std::vector<MappedBytes> files;  // libjvm.so, and what else was given
};
[[nodiscard]] JavaImage find_java(const std::vector<CodeRange>& code, std::vector<MappedBytes> files);

// What is known of a HotSpot process. Bounded: 4 MiB.
struct KnownJava {
  static constexpr std::size_t kMaxBlobs = 4096, kMaxPlaces = 8192, kMaxNames = 8192;
  static constexpr int kMaxTries = 16;

  jvm::VmSymbols symbols;  // of the program that all else is of
  std::optional<jvm::Jvm> jvm;
  std::optional<jvm::JavaCode> code;
  std::map<std::uint64_t, jvm::CodeBlob> blobs;                          // by their first address, apart
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> places;  // the JVM's `Method`s by instruction
  std::unordered_map<std::uint64_t, std::string> names;                  // by `Method`
  int tries = 0;
};

// The frames of a HotSpot process for one batch: the JVM's own tables have the size of compiled code's frames and its
// functions, inlined ones too; the interpreter keeps the function in its frame (x86-64). What earlier batches read
// is used only once the process is gone.
class JavaStack final : public RunTimeCode {
 public:
  static constexpr std::uint64_t kMaxRead = 32u << 20;  // for a batch: 3 MiB to find out about OpenJDK 17

  // symbols: addresses in the process. own: its memory without the files; it is gone if that has not even the symbols.
  JavaStack(KnownJava& known, const jvm::VmSymbols& symbols, const ByteSource& memory, const ByteSource& own);

  [[nodiscard]] std::optional<Step> step(const elf::Registers& registers, bool is_exact,
                                         const elf::StackCopy& stack) override;
  // "org.acme.Shop.put()", "[java]" for one whose name cannot be read
  [[nodiscard]] std::vector<GrowthFrame> frames_at(std::uint64_t pc, bool is_exact, std::uint64_t method) override;

 private:
  void open(const jvm::VmSymbols& symbols);
  [[nodiscard]] const jvm::CodeBlob* blob_at(std::uint64_t pc);
  void keep(const jvm::CodeBlob& blob);
  [[nodiscard]] std::vector<std::uint64_t> methods_at(std::uint64_t pc, bool is_exact);
  [[nodiscard]] const std::string& name_of(std::uint64_t method);  // "" = not known

  KnownJava& known_;
  CachedReader reader_;
  bool is_gone_ = false;
  std::optional<jvm::Jvm> jvm_;                                         // reads through reader_
  std::unordered_map<std::uint64_t, std::string> names_;                // by `Method`, read in this batch
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> read_;  // by instruction, in this batch
};

}  // namespace oomw::growth
