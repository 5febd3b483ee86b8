// SPDX-License-Identifier: Apache-2.0
#include "runtimes/jvm/libjvm.h"

#include <elf.h>

#include <algorithm>
#include <string_view>

#include "elf/elf_file.h"
#include "memory/cached_reader.h"

namespace oomw::jvm {
namespace {

// libjvm.so is a file of the container: 1,500 exported symbols and 24 MiB in OpenJDK 17.
constexpr std::uint64_t kMaxBytes = 32u << 20;
constexpr std::uint64_t kMaxSymbols = 65'536;
constexpr std::string_view kPrefix = "gHotSpotVM";
constexpr std::size_t kMaxSymbolName = 64;

Result<VmSymbols> symbols_of(const elf::File& elf, const elf::Section& table, const elf::Section& names) {
  VmSymbols symbols;
  const std::uint64_t count = std::min(table.size / sizeof(Elf64_Sym), kMaxSymbols);
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const auto symbol, elf.reader().get<Elf64_Sym>(table.offset + i * sizeof(Elf64_Sym)));
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.size) continue;
    ASSIGN_OR_RETURN(std::string name, elf.reader().c_string(names.offset + symbol.st_name, kMaxSymbolName));
    if (name.starts_with(kPrefix)) symbols.emplace(std::move(name), symbol.st_value);
  }
  return symbols;
}

// What to add to a link-time address.
Result<std::uint64_t> load_bias(const elf::File& elf, const Mapping& mapping) {
  for (const elf::Segment& segment : elf.segments()) {
    const bool holds =
        segment.offset <= mapping.file_offset && mapping.file_offset - segment.offset < segment.file_size;
    if (holds) return mapping.begin - mapping.file_offset + segment.offset - segment.address;
  }
  return fail(ErrorCode::kInvalid, "libjvm.so is mapped otherwise than it says");
}

}  // namespace

const Mapping* find_libjvm(const MemoryMap& map) {
  const auto& all = map.mappings();
  const auto found = std::ranges::find_if(all, [](const Mapping& mapping) {
    return mapping.has_file() && mapping.file_offset == 0 && mapping.file_name() == "libjvm.so";
  });
  return found == all.end() ? nullptr : &*found;
}

Result<VmSymbols> read_vm_symbols(const ByteSource& library, const Mapping& mapping) {
  CachedReader reader(library, kMaxBytes);
  ASSIGN_OR_RETURN(const elf::File elf, elf::File::open(reader));
  const elf::Section* table = elf.find_section(".dynsym");
  const elf::Section* names = elf.find_section(".dynstr");
  if (table == nullptr || names == nullptr || table->entry_size != sizeof(Elf64_Sym)) {
    return fail(ErrorCode::kUnsupported, "libjvm.so has no dynamic symbols");
  }
  ASSIGN_OR_RETURN(VmSymbols symbols, symbols_of(elf, *table, *names));
  if (!symbols.contains("gHotSpotVMStructs")) {
    return fail(ErrorCode::kUnsupported, "libjvm.so does not describe itself as HotSpot does");
  }
  ASSIGN_OR_RETURN(const std::uint64_t bias, load_bias(elf, mapping));
  for (auto& [name, address] : symbols) address += bias;
  return symbols;
}

}  // namespace oomw::jvm
