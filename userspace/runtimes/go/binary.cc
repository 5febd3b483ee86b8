// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/binary.h"

#include <elf.h>

#include <array>
#include <cstring>

#include "base/text.h"
#include "runtimes/go/heap_locator.h"
#include "runtimes/go/module_data.h"
#include "runtimes/go/narrow_elf.h"
#include "runtimes/go/pclntab.h"

namespace oomw::go {

namespace {

// A search of a file without section names reads its segments once; 512 MiB covers what exists.
constexpr std::uint64_t kMaxFileBytes = 512U << 20;
constexpr char kBuildInfoMagic[] = "\xff Go buildinf:";
constexpr std::size_t kMagicBytes = sizeof(kBuildInfoMagic) - 1;
constexpr std::size_t kFlagsAt = 15, kTextAt = 32;
constexpr std::uint8_t kInlineText = 2;

// "go1.26.1" from .go.buildinfo, printable. kNotFound where there is none; Go 1.17 and older stored a pointer instead
// of the text: kUnsupported.
Result<std::string> read_go_version(const elf::File& elf) {
  const elf::Section* section = elf.find_section(".go.buildinfo");
  if (!section) return fail(ErrorCode::kNotFound, "no .go.buildinfo section");
  std::array<std::byte, kTextAt + 1 + GoBinary::kMaxVersion> bytes{};
  ASSIGN_OR_RETURN(const std::size_t n, elf.reader().read_some(section->offset, bytes));
  if (n < kTextAt + 1 || std::memcmp(bytes.data(), kBuildInfoMagic, kMagicBytes) != 0) {
    return fail(ErrorCode::kInvalid, ".go.buildinfo without its magic");
  }
  if ((static_cast<std::uint8_t>(bytes[kFlagsAt]) & kInlineText) == 0) {
    return fail(ErrorCode::kUnsupported, "build information of Go 1.17 or older");
  }
  // A length above 127 takes two bytes; no version is that long.
  const auto length = static_cast<std::size_t>(bytes[kTextAt]);
  if (length == 0 || length > GoBinary::kMaxVersion || kTextAt + 1 + length > n) {
    return fail(ErrorCode::kInvalid, "length of the Go version");
  }
  return printable({reinterpret_cast<const char*>(bytes.data()) + kTextAt + 1, length}, GoBinary::kMaxVersion);
}

std::string build_id_of(const elf::File& elf) {
  if (std::string gnu = elf::gnu_build_id(elf); !gnu.empty()) return gnu;
  const auto go = elf::note_of(elf, ".note.go.buildid");
  return go ? printable({reinterpret_cast<const char*>(go->data()), go->size()}, elf::kMaxNote) : std::string();
}

elf::AddressRange bss_of(const elf::File& elf) {
  if (const elf::Section* bss = elf.find_section(".bss")) return bss->addresses();
  for (const elf::Segment& segment : elf.segments()) {  // no section names: the zeroed tail of the data
    if ((segment.flags & PF_W) && segment.memory_size > segment.file_size) {
      return {segment.address + segment.file_size, segment.address + segment.memory_size};
    }
  }
  return {};
}

// Symbols win where both found an address: they name the variable, code is inference.
void merge(GoBinary& binary, const HeapVariables& symbols, const HeapVariables& code) {
  binary.variables = {symbols.buckets ? symbols.buckets : code.buckets, symbols.rate ? symbols.rate : code.rate,
                      symbols.cycle ? symbols.cycle : code.cycle};
  binary.cross_checked = symbols.buckets && symbols == code;
  if (symbols.buckets) binary.method = LocateMethod::kSymbols;
  if (!symbols.buckets && code.buckets) binary.method = LocateMethod::kCode;
  if (symbols.buckets && code.buckets && symbols.buckets != code.buckets) {
    binary.why = "symbols and code disagree about runtime.mbuckets";
  }
}

void locate(const elf::File& elf, const Pclntab& table, GoBinary& binary) {
  const HeapVariables symbols = locate_by_symbols(elf);
  auto findings = [&]() -> Result<CodeFindings> {
    ASSIGN_OR_RETURN(binary.text_start, find_text_start(elf, table));
    return locate_by_code(elf, table, binary.text_start);
  }();
  merge(binary, symbols, findings.has_value() ? findings->variables : HeapVariables{});
  binary.is_collector = findings.has_value() && findings->is_collector;
  if (findings.has_value() && !findings->is_profiling_linked) {
    binary.profiling = Profiling::kLinkedOut;
    binary.why =
        "runtime.MemProfile is not linked in: this program keeps no heap profile (net/http/pprof or "
        "runtime/pprof is not imported)";
  } else if (binary.variables.buckets) {
    binary.profiling = Profiling::kAvailable;
  } else {
    binary.why = findings.has_value() ? findings->why : findings.error().message;
  }
}

Result<GoBinary> inspect(const elf::File& elf) {
  GoBinary binary;
  binary.machine = elf.machine();
  binary.is_position_independent = elf.is_position_independent();
  binary.entry = elf.entry();
  const auto table = Pclntab::find(elf);
  const bool has_go_sections = elf.find_section(".go.buildinfo") || elf.find_section(".note.go.buildid");
  if (!table.has_value() && !has_go_sections && table.error().code == ErrorCode::kNotFound) {
    binary.why = "not a Go program";
    return binary;
  }
  binary.is_go = true;
  binary.go_version = read_go_version(elf).value_or("");
  binary.build_id = build_id_of(elf);
  binary.bss = bss_of(elf);
  if (!table.has_value()) {
    binary.why = table.error().message;
    return binary;
  }
  locate(elf, *table, binary);
  return binary;
}

GoBinary narrow_binary() {
  GoBinary binary;
  binary.is_go = true;
  binary.profiling = Profiling::kNarrow;
  binary.why = "a 32-bit Go program: only 64-bit ones can be read";
  return binary;
}

}  // namespace

std::string_view to_string(LocateMethod method) {
  static constexpr std::array<std::string_view, 4> kNames = {"none", "symbols", "code", "scan"};
  return kNames[static_cast<std::size_t>(method)];
}

std::string_view to_string(Profiling profiling) {
  static constexpr std::array<std::string_view, 4> kNames = {"available", "linked_out", "not_found", "32_bit"};
  return kNames[static_cast<std::size_t>(profiling)];
}

Result<GoBinary> inspect_binary(const ByteSource& file) {
  CachedReader reader(file, kMaxFileBytes, elf::kFileBlockBytes);
  const auto elf = elf::File::open(reader);
  if (elf.has_value()) return inspect(*elf);
  if (elf.error().code == ErrorCode::kUnsupported && is_narrow_go(reader)) return narrow_binary();
  return tl::make_unexpected(elf.error());
}

Result<GoBinary> inspect_binary(int exe_fd) { return inspect_binary(FdSource(exe_fd)); }

}  // namespace oomw::go
