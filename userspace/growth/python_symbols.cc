// SPDX-License-Identifier: Apache-2.0
#include "growth/python_symbols.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "elf/symbol_table.h"

namespace oomw::growth {
namespace {

constexpr std::uint64_t kMaxSymbols = 64u << 10;
constexpr int kMaxNames = 1024;  // looked at
constexpr std::uint64_t kPointerBytes = 8, kHeadBytes = 16, kLeastType = 400, kMostType = 416, kLeastRuntime = 640;

// A file exports Py_Version from 3.11 on; before, what came with a version shows it.
constexpr std::array<std::pair<std::string_view, std::uint32_t>, 3> kFirstIn = {
    {{"PyPickleBuffer_Type", 0x0308}, {"Py_GenericAliasType", 0x0309}, {"PyExc_EncodingWarning", 0x030a}}};

void keep(const std::string& name, std::uint64_t address, const elf::File& file, PythonSymbols& found) {
  if (name == "_PyRuntime") found.runtime = address;
  if (name == "PyCode_Type") found.code_type = address;
  if (name == "PyUnicode_Type") found.text_type = address;
  if (name == "PyBytes_Type") found.bytes_type = address;
  if (name == "_Py_NoneStruct") found.none = address;
  std::uint32_t version = 0;
  if (name == "Py_Version") version = file.get_at<std::uint32_t>(address).value_or(0) >> 16;
  for (const auto& [symbol, first] : kFirstIn) version = name == symbol ? first : version;
  found.version = std::max(found.version, version);
}

// By its size first, so that few names are read.
bool may_be_one(const Elf64_Sym& symbol) {
  const std::uint64_t size = symbol.st_size;
  const bool has_size =
      size == kPointerBytes || size == kHeadBytes || (size >= kLeastType && size <= kMostType) || size >= kLeastRuntime;
  return ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_shndx != SHN_UNDEF && has_size;
}

void read_symbols(const elf::File& file, const elf::Section& section, PythonSymbols& found) {
  const std::uint64_t names = file.sections()[section.link].offset;
  const std::uint64_t count = std::min(section.size / sizeof(Elf64_Sym), kMaxSymbols);
  int looked_at = 0;
  std::vector<Elf64_Sym> chunk;
  for (std::uint64_t i = 0; i < count; i += elf::kSymbolChunk) {
    chunk.resize(std::min<std::uint64_t>(elf::kSymbolChunk, count - i));
    if (!file.reader().read(section.offset + i * sizeof(Elf64_Sym), std::as_writable_bytes(std::span(chunk)))) break;
    for (const Elf64_Sym& symbol : chunk) {
      if (!may_be_one(symbol) || ++looked_at > kMaxNames) continue;
      keep(file.reader().c_string(names + symbol.st_name, 32).value_or(""), symbol.st_value, file, found);
    }
  }
}

}  // namespace

PythonSymbols find_python_symbols(const elf::File& file) {
  PythonSymbols found;
  const elf::Section* section = file.find_section(".dynsym");
  if (section == nullptr || !section->has_file_bytes() || section->link >= file.sections().size()) return found;
  read_symbols(file, *section, found);
  const bool is_python = found.code_type != 0 && found.text_type != 0 && found.bytes_type != 0;
  if (!is_python) return {};
  if (found.version == 0) found.version = PythonSymbols::kOld;
  found.offsets = python_offsets(found.version, file, found.runtime);
  return found;
}

}  // namespace oomw::growth
