// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/module_data.h"

#include <elf.h>

#include <algorithm>
#include <vector>

namespace oomw::go {

// One search. Reads the words of the file as the dynamic loader would leave them at load bias 0.
class ModuleDataSearch {
 public:
  ModuleDataSearch(const elf::File& elf, const Pclntab& table) : elf_(elf), table_(table) {}

  Result<ModuleData> run() {
    if (elf_.is_position_independent()) return from_relocations();
    if (const elf::Section* section = elf_.find_section(".go.module")) return at(section->address);
    for (const char* name : {".noptrdata", ".data", ".data.rel.ro"}) {
      const elf::Section* section = elf_.find_section(name);
      const auto address = section ? search(*section) : std::nullopt;
      if (address) return at(*address);
    }
    return fail(ErrorCode::kNotFound, "no module data");
  }

 private:
  Result<ModuleData> at(std::uint64_t address) {
    ModuleData module;
    RETURN_IF_ERROR(elf_.read_at(address, std::as_writable_bytes(std::span(module.words_))));
    return checked(module);
  }

  Result<ModuleData> checked(const ModuleData& module) const {
    if (module.words_[0] == table_.address() && module.words_[1] == table_.name_table_address()) return module;
    return fail(ErrorCode::kInvalid, "module data does not point to the function table");
  }

  std::optional<std::uint64_t> search(const elf::Section& section) {
    std::vector<std::uint64_t> words(CachedReader::kBlockBytes / 8);
    for (std::uint64_t done = 0; section.has_file_bytes() && done + 16 <= section.size;) {
      const std::uint64_t count = std::min<std::uint64_t>(words.size(), (section.size - done) / 8);
      const std::span chunk(words.data(), count);
      if (!elf_.reader().read(section.offset + done, std::as_writable_bytes(chunk)).has_value()) return std::nullopt;
      for (std::size_t i = 0; i + 1 < count; ++i) {
        if (words[i] == table_.address() && words[i + 1] == table_.name_table_address()) {
          return section.address + done + i * 8;
        }
      }
      done += (count - 1) * 8;  // a pair may straddle two chunks
    }
    return std::nullopt;
  }

  // Calls visit(where, value) for each relative relocation, until it returns false. Plain words of
  // the file (addends in place) do not occur: both linkers write RELA here.
  template <typename Visit>
  void for_each_relocation(Visit visit) {
    const std::uint32_t relative = elf_.machine() == elf::Machine::kAmd64 ? R_X86_64_RELATIVE : R_AARCH64_RELATIVE;
    for (const elf::Section& section : elf_.sections()) {
      if (section.type != SHT_RELA || section.entry_size != sizeof(Elf64_Rela)) continue;
      std::vector<Elf64_Rela> chunk(2048);
      for (std::uint64_t done = 0; done + sizeof(Elf64_Rela) <= section.size;) {
        const std::uint64_t count = std::min<std::uint64_t>(chunk.size(), (section.size - done) / sizeof(Elf64_Rela));
        const std::span part(chunk.data(), count);
        if (!elf_.reader().read(section.offset + done, std::as_writable_bytes(part)).has_value()) return;
        for (const Elf64_Rela& rela : part) {
          if (ELF64_R_TYPE(rela.r_info) != relative) continue;
          if (!visit(rela.r_offset, static_cast<std::uint64_t>(rela.r_addend))) return;
        }
        done += count * sizeof(Elf64_Rela);
      }
    }
  }

  Result<ModuleData> from_relocations() {
    std::optional<std::uint64_t> base;
    std::vector<std::uint64_t> candidates;  // words that point to the table: a handful at most
    for_each_relocation([&](std::uint64_t where, std::uint64_t value) {
      if (value == table_.address() && candidates.size() < 16) candidates.push_back(where);
      return true;
    });
    for_each_relocation([&](std::uint64_t where, std::uint64_t value) {
      const bool is_second = value == table_.name_table_address() && where >= 8 &&
                             std::find(candidates.begin(), candidates.end(), where - 8) != candidates.end();
      if (is_second) base = where - 8;
      return !is_second;
    });
    if (!base) return fail(ErrorCode::kNotFound, "no module data among the relocations");
    ModuleData module;
    for_each_relocation([&](std::uint64_t where, std::uint64_t value) {
      if (where >= *base && where - *base < sizeof(module.words_) && (where - *base) % 8 == 0) {
        module.words_[(where - *base) / 8] = value;
      }
      return true;
    });
    return checked(module);
  }

  const elf::File& elf_;
  const Pclntab& table_;
};

Result<ModuleData> ModuleData::find(const elf::File& elf, const Pclntab& table) {
  return ModuleDataSearch(elf, table).run();
}

namespace {

// Go's linker makes _rt0_<arch>_linux the entry point and starts .text with Go's text.
bool entry_point_is_go(const elf::File& elf, const Pclntab& table, std::uint64_t text_start) {
  if (elf.entry() < text_start) return false;
  const auto function = table.function_at(elf.entry() - text_start);
  if (!function.has_value() || function->entry != elf.entry() - text_start) return false;
  const auto name = table.name_at(function->name_offset);
  return name.has_value() && name->rfind("_rt0_", 0) == 0;
}

}  // namespace

Result<std::uint64_t> find_text_start(const elf::File& elf, const Pclntab& table) {
  const elf::Section* text = elf.find_section(".text");
  if (text && entry_point_is_go(elf, table, text->address)) return text->address;
  if (table.header_text_start() != 0 && elf.offset_of(table.header_text_start())) return table.header_text_start();
  ASSIGN_OR_RETURN(const ModuleData module, ModuleData::find(elf, table));
  if (!elf.offset_of(module.text_start())) return fail(ErrorCode::kInvalid, "start of Go's text outside the file");
  return module.text_start();
}

}  // namespace oomw::go
