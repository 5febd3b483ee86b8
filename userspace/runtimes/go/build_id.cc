// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/build_id.h"

#include <elf.h>

#include <cstdint>

namespace oomw::go {

std::optional<std::vector<std::byte>> note_of(const ElfFile& elf, const char* section_name) {
  const Section* section = elf.find_section(section_name);
  if (!section) return std::nullopt;
  const auto header = elf.reader().get<Elf64_Nhdr>(section->offset);
  if (!header.has_value() || header->n_namesz > 16 || header->n_descsz == 0 || header->n_descsz > kMaxNote) {
    return std::nullopt;
  }
  std::vector<std::byte> description(header->n_descsz);
  const std::uint64_t at = section->offset + sizeof(Elf64_Nhdr) + (header->n_namesz + 3) / 4 * 4;
  if (!elf.reader().read(at, description).has_value()) return std::nullopt;
  return description;
}

std::string gnu_build_id(const ElfFile& elf) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte b : note_of(elf, ".note.gnu.build-id").value_or(std::vector<std::byte>())) {
    text += kDigits[static_cast<unsigned>(b) >> 4];
    text += kDigits[static_cast<unsigned>(b) & 15];
  }
  return text;
}

}  // namespace oomw::go
