// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/heap_locator.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <vector>

#include "runtimes/go/data_references.h"

namespace oomw::go {

namespace {

constexpr std::uint64_t kMaxSymbols = 8U << 20;
constexpr std::size_t kMaxCodeBytes = 4096;  // the largest of the functions read has 600

constexpr std::string_view kBuckets = "runtime.mbuckets", kRate = "runtime.MemProfileRate",
                           kCycle = "runtime.mProfCycle";

bool is_complete(const HeapVariables& v) { return v.buckets && v.rate && v.cycle; }

// Assigns a symbol's value if its name is one of the three. The names are read only for objects
// of a fitting size: variables of 8 or 4 bytes are a few per cent of a symbol table.
void take_symbol(const elf::File& elf, const Elf64_Sym& symbol, const elf::Section& names, HeapVariables& found) {
  if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || (symbol.st_size != 8 && symbol.st_size != 4)) return;
  if (symbol.st_name >= names.size) return;
  const auto name = elf.reader().c_string(names.offset + symbol.st_name, kRate.size() + 1);
  if (!name.has_value()) return;
  if (*name == kBuckets) found.buckets = symbol.st_value;
  if (*name == kRate) found.rate = symbol.st_value;
  if (*name == kCycle) found.cycle = symbol.st_value;
}

elf::AddressRange addresses_of(const elf::File& elf, const char* name) {
  const elf::Section* section = elf.find_section(name);
  return section ? section->addresses() : elf::AddressRange{};
}

// Sections in which a variable of each kind may lie. Without sections, anything writable is accepted.
bool is_in(const elf::File& elf, std::uint64_t address, std::initializer_list<const char*> names) {
  if (elf.sections().empty()) {
    return std::any_of(elf.segments().begin(), elf.segments().end(), [&](const elf::Segment& s) {
      return (s.flags & PF_W) && elf::AddressRange{s.address, s.address + s.memory_size}.contains(address);
    });
  }
  return std::any_of(names.begin(), names.end(),
                     [&](const char* name) { return addresses_of(elf, name).contains(address); });
}

std::vector<DataReference> loads_of(const elf::File& elf, const std::optional<FunctionRecord>& function,
                                    std::uint64_t text_start) {
  if (!function) return {};
  std::vector<std::byte> code(std::min<std::size_t>(function->end - function->entry, kMaxCodeBytes));
  if (!elf.read_at(text_start + function->entry, code).has_value()) return {};
  return find_loads(elf.machine(), code, text_start + function->entry);
}

// The nth distinct target of the given width in one of the sections.
std::optional<std::uint64_t> nth_target(const elf::File& elf, const std::vector<DataReference>& loads, std::size_t n,
                                        unsigned bytes, std::initializer_list<const char*> sections) {
  std::vector<std::uint64_t> seen;
  for (const DataReference& load : loads) {
    if (load.bytes != bytes || load.target % bytes != 0 || !is_in(elf, load.target, sections)) continue;
    if (std::find(seen.begin(), seen.end(), load.target) != seen.end()) continue;
    seen.push_back(load.target);
    if (seen.size() == n) return load.target;
  }
  return std::nullopt;
}

}  // namespace

HeapVariables locate_by_symbols(const elf::File& elf) {
  HeapVariables found;
  const elf::Section* table = elf.find_section(".symtab");
  if (!table || table->link >= elf.sections().size() || table->entry_size != sizeof(Elf64_Sym)) return found;
  const elf::Section& names = elf.sections()[table->link];
  const std::uint64_t count = std::min<std::uint64_t>(table->size / sizeof(Elf64_Sym), kMaxSymbols);
  std::vector<Elf64_Sym> chunk(1024);
  for (std::uint64_t done = 0; done < count && !is_complete(found); done += chunk.size()) {
    const std::span part(chunk.data(), std::min<std::uint64_t>(chunk.size(), count - done));
    const std::uint64_t offset = table->offset + done * sizeof(Elf64_Sym);
    if (!elf.reader().read(offset, std::as_writable_bytes(part)).has_value()) break;
    for (const Elf64_Sym& symbol : part) take_symbol(elf, symbol, names, found);
  }
  return found;
}

Result<CodeFindings> locate_by_code(const elf::File& elf, const Pclntab& table, std::uint64_t text_start) {
  // In Go 1.23 and later, memProfileInternal holds what MemProfile held before. The last is what a Collector's main
  // function calls; all are searched for at once, because reading the names is the costly part.
  static constexpr std::array<std::string_view, 6> kNames = {
      "runtime.mProf_FlushLocked",  "runtime.mProf_PostSweep",
      "runtime.profilealloc",       "runtime.MemProfile",
      "runtime.memProfileInternal", "go.opentelemetry.io/collector/otelcol.(*Collector).Run"};
  ASSIGN_OR_RETURN(const auto functions, table.find_functions(kNames));
  CodeFindings findings;
  auto& variables = findings.variables;
  variables.buckets = nth_target(elf, loads_of(elf, functions[0], text_start), 1, 8, {".bss"});
  variables.cycle = nth_target(elf, loads_of(elf, functions[1], text_start), 1, 4, {".noptrbss", ".bss"});
  variables.rate =
      nth_target(elf, loads_of(elf, functions[2], text_start), 2, 8, {".noptrbss", ".bss", ".noptrdata", ".data"});
  findings.is_profiling_linked = functions[3] || functions[4];
  findings.is_collector = functions[5].has_value();
  if (!functions[0]) findings.why = "runtime.mProf_FlushLocked is not in the function table";
  if (functions[0] && !variables.buckets) findings.why = "no load of a list head in runtime.mProf_FlushLocked";
  return findings;
}

}  // namespace oomw::go
