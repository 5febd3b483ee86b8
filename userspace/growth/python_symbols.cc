// SPDX-License-Identifier: Apache-2.0
#include "growth/python_symbols.h"

#include <elf.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace oomw::growth {
namespace {

constexpr std::size_t kChunk = 512;
constexpr std::uint64_t kMaxSymbols = 64u << 10;
constexpr int kMaxNames = 1024;  // looked at
constexpr std::uint64_t kTypeBytes = 408, kVersionBytes = 8, kLeastRuntime = 64u << 10;

void keep(const std::string& name, std::uint64_t address, const go::ElfFile& file, PythonSymbols& found) {
  if (name == "_PyRuntime") found.runtime = address;
  if (name == "PyCode_Type") found.code_type = address;
  if (name == "PyUnicode_Type") found.text_type = address;
  if (name == "PyBytes_Type") found.bytes_type = address;
  if (name == "Py_Version") found.version = file.get_at<std::uint32_t>(address).value_or(0) >> 16;
}

// By its size first, so that few names are read.
bool may_be_one(const Elf64_Sym& symbol) {
  const bool has_size =
      symbol.st_size == kTypeBytes || symbol.st_size == kVersionBytes || symbol.st_size >= kLeastRuntime;
  return ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_shndx != SHN_UNDEF && has_size;
}

}  // namespace

PythonSymbols find_python_symbols(const go::ElfFile& file) {
  PythonSymbols found;
  const go::Section* section = file.find_section(".dynsym");
  if (section == nullptr || !section->has_file_bytes() || section->link >= file.sections().size()) return found;
  const std::uint64_t names = file.sections()[section->link].offset;
  const std::uint64_t count = std::min(section->size / sizeof(Elf64_Sym), kMaxSymbols);
  int looked_at = 0;
  std::vector<Elf64_Sym> chunk;
  for (std::uint64_t i = 0; i < count; i += kChunk) {
    chunk.resize(std::min<std::uint64_t>(kChunk, count - i));
    if (!file.reader().read(section->offset + i * sizeof(Elf64_Sym), std::as_writable_bytes(std::span(chunk)))) break;
    for (const Elf64_Sym& symbol : chunk) {
      if (!may_be_one(symbol) || ++looked_at > kMaxNames) continue;
      keep(file.reader().c_string(names + symbol.st_name, 32).value_or(""), symbol.st_value, file, found);
    }
  }
  return found;
}

}  // namespace oomw::growth
