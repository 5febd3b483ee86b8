// SPDX-License-Identifier: Apache-2.0
#include "elf/elf_file.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/text.h"

namespace oomw::elf {

namespace {

constexpr std::size_t kMaxSectionName = 128;

bool overflows(std::uint64_t begin, std::uint64_t size) {
  return size > std::numeric_limits<std::uint64_t>::max() - begin;
}

Result<Machine> machine_of(const Elf64_Ehdr& header) {
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return fail(ErrorCode::kInvalid, "not an ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return fail(ErrorCode::kUnsupported, "32-bit ELF is not supported");
  if (header.e_ident[EI_DATA] != ELFDATA2LSB) return fail(ErrorCode::kUnsupported, "big-endian ELF is not supported");
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN) return fail(ErrorCode::kInvalid, "not an executable");
  if (header.e_machine == EM_X86_64) return Machine::kAmd64;
  if (header.e_machine == EM_AARCH64) return Machine::kArm64;
  return fail(ErrorCode::kUnsupported, "ELF machine " + std::to_string(header.e_machine) + " is not supported");
}

Section section_of(const Elf64_Shdr& header) {
  return {.name = {},
          .type = header.sh_type,
          .flags = header.sh_flags,
          .address = header.sh_addr,
          .offset = header.sh_offset,
          .size = header.sh_size,
          .link = header.sh_link,
          .entry_size = header.sh_entsize};
}

}  // namespace

bool Section::has_file_bytes() const { return type != SHT_NOBITS && type != SHT_NULL; }

Result<File> File::open(CachedReader& reader) {
  ASSIGN_OR_RETURN(const auto header, reader.get<Elf64_Ehdr>(0));
  File file(reader);
  ASSIGN_OR_RETURN(file.machine_, machine_of(header));
  file.is_position_independent_ = header.e_type == ET_DYN;
  file.entry_ = header.e_entry;
  RETURN_IF_ERROR(file.load_segments(header.e_phoff, header.e_phentsize, header.e_phnum));
  if (header.e_shoff != 0) {
    RETURN_IF_ERROR(file.load_sections(header.e_shoff, header.e_shentsize, header.e_shnum, header.e_shstrndx));
  }
  return file;
}

Result<> File::load_segments(std::uint64_t offset, std::uint16_t entry_size, std::uint32_t count) {
  if (count == 0 || count > kMaxSegments || entry_size != sizeof(Elf64_Phdr)) {
    return fail(ErrorCode::kInvalid,
                std::to_string(count) + " program headers of " + std::to_string(entry_size) + " B");
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    if (overflows(offset, (i + 1) * sizeof(Elf64_Phdr))) return fail(ErrorCode::kInvalid, "program header offset");
    ASSIGN_OR_RETURN(const auto header, reader_->get<Elf64_Phdr>(offset + i * sizeof(Elf64_Phdr)));
    if (header.p_type != PT_LOAD) continue;
    if (overflows(header.p_vaddr, header.p_memsz) || overflows(header.p_offset, header.p_filesz) ||
        header.p_filesz > header.p_memsz) {
      ++malformed_;
      continue;
    }
    segments_.push_back({header.p_vaddr, header.p_offset, header.p_filesz, header.p_memsz, header.p_flags});
  }
  return {};
}

Result<> File::load_sections(std::uint64_t offset, std::uint16_t entry_size, std::uint64_t count,
                             std::uint32_t names_index) {
  if (count > kMaxSections || entry_size != sizeof(Elf64_Shdr) || names_index >= count ||
      overflows(offset, count * sizeof(Elf64_Shdr))) {
    return fail(ErrorCode::kInvalid, "section headers: " + std::to_string(count) + " of " + std::to_string(entry_size));
  }
  ASSIGN_OR_RETURN(const auto names, reader_->get<Elf64_Shdr>(offset + names_index * sizeof(Elf64_Shdr)));
  sections_.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const auto header, reader_->get<Elf64_Shdr>(offset + i * sizeof(Elf64_Shdr)));
    Section section = section_of(header);
    if (overflows(header.sh_addr, header.sh_size) || overflows(header.sh_offset, header.sh_size) ||
        header.sh_name >= names.sh_size || overflows(names.sh_offset, header.sh_name)) {
      ++malformed_;
      section = Section{};  // keeps its place: sh_link counts sections
    } else {
      ASSIGN_OR_RETURN(section.name, reader_->c_string(names.sh_offset + header.sh_name, kMaxSectionName));
    }
    sections_.push_back(std::move(section));
  }
  return {};
}

const Section* File::find_section(std::string_view name) const {
  const auto it = std::find_if(sections_.begin(), sections_.end(), [&](const Section& s) { return s.name == name; });
  return it == sections_.end() ? nullptr : &*it;
}

std::optional<std::uint64_t> File::offset_of(std::uint64_t address) const {
  for (const Segment& segment : segments_) {
    if (address >= segment.address && address - segment.address < segment.file_size) {
      return segment.offset + (address - segment.address);
    }
  }
  return std::nullopt;
}

Result<> File::read_at(std::uint64_t address, std::span<std::byte> out) const {
  const auto offset = offset_of(address);
  const auto last = out.empty() ? offset : offset_of(address + out.size() - 1);
  if (!offset || !last || *last - *offset != out.size() - (out.empty() ? 0 : 1)) {
    return fail(ErrorCode::kInvalid, "address " + std::to_string(address) + " is not in the file");
  }
  return reader_->read(*offset, out);
}

std::optional<std::vector<std::byte>> note_of(const File& elf, const char* section_name) {
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

std::string gnu_build_id(const File& elf) {
  const auto id = note_of(elf, ".note.gnu.build-id");
  return id ? to_hex({reinterpret_cast<const char*>(id->data()), id->size()}) : "";
}

}  // namespace oomw::elf
