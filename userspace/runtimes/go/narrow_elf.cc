// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/narrow_elf.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "elf/elf_file.h"

namespace oomw::go {

namespace {

constexpr std::array<std::string_view, 3> kGoSections = {".go.buildinfo", ".note.go.buildid", ".gopclntab"};
constexpr std::size_t kMaxName = 32;  // longer than each of them

bool is_narrow(const Elf32_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS32 &&
         header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_shentsize == sizeof(Elf32_Shdr) &&
         header.e_shnum <= elf::File::kMaxSections && header.e_shstrndx < header.e_shnum;
}

Result<Elf32_Shdr> section_header(CachedReader& reader, const Elf32_Ehdr& header, std::uint64_t index) {
  return reader.get<Elf32_Shdr>(header.e_shoff + index * sizeof(Elf32_Shdr));
}

bool is_go_section(CachedReader& reader, const Elf32_Shdr& names, const Elf32_Shdr& section) {
  if (section.sh_name >= names.sh_size) return false;
  const auto name = reader.c_string(std::uint64_t{names.sh_offset} + section.sh_name, kMaxName);
  return name.has_value() && std::find(kGoSections.begin(), kGoSections.end(), *name) != kGoSections.end();
}

}  // namespace

bool is_narrow_go(CachedReader& reader) {
  const auto header = reader.get<Elf32_Ehdr>(0);
  if (!header.has_value() || !is_narrow(*header)) return false;
  const auto names = section_header(reader, *header, header->e_shstrndx);
  if (!names.has_value()) return false;
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto section = section_header(reader, *header, i);
    if (!section.has_value()) return false;
    if (is_go_section(reader, *names, *section)) return true;
  }
  return false;
}

}  // namespace oomw::go
