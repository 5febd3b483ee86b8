// SPDX-License-Identifier: Apache-2.0
#include "elf/symbol_table.h"

#include <elf.h>
#include <lzma.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <tuple>

#include "memory/byte_source.h"

namespace oomw::elf {
namespace {

constexpr std::uint64_t kUnpackMemory = 24u << 20;
constexpr std::uint64_t kUnsizedReach = 4096;
constexpr std::size_t kMaxAliases = 16;  // of one address

bool is_function(const Elf64_Sym& symbol) {
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  const bool is_code = type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && symbol.st_size > 0);
  return is_code && symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0;
}

std::vector<std::byte> unxz(std::span<const std::uint8_t> packed) {
  std::vector<std::byte> out(SymbolTable::kMaxUnpacked);
  std::uint64_t memory = kUnpackMemory;
  std::size_t read = 0, written = 0;
  const lzma_ret end = ::lzma_stream_buffer_decode(&memory, 0, nullptr, packed.data(), &read, packed.size(),
                                                   reinterpret_cast<std::uint8_t*>(out.data()), &written, out.size());
  out.resize(end == LZMA_OK ? written : 0);
  out.shrink_to_fit();
  return out;
}

// Of several names for one function the plainest: "malloc" rather than "__libc_malloc".
auto plainness(std::string_view name) {
  const std::size_t underscores = std::min(name.find_first_not_of('_'), name.size());
  return std::make_tuple(name.starts_with("_Z") || name.starts_with("_R") ? 0 : underscores, name.size(), name);
}

}  // namespace

struct SymbolTable::Unpacked {
  explicit Unpacked(std::vector<std::byte> unpacked)
      : bytes(std::move(unpacked)), source(bytes), reader(source, kMaxUnpacked * 8, 4096) {}
  std::vector<std::byte> bytes;
  SpanSource source;
  CachedReader reader;
};

SymbolTable::SymbolTable(const File& file) : file_(file) {
  const Section* full = file.find_section(".symtab");
  if (full != nullptr) add(file, *full, false);
  if (symbols_.empty()) {
    if (const Section* dynamic = file.find_section(".dynsym"); dynamic != nullptr) add(file, *dynamic, false);
    unpack(file);
  }
  std::ranges::sort(symbols_, [](const Symbol& a, const Symbol& b) {
    return std::tie(a.begin, b.size, a.name) < std::tie(b.begin, a.size, b.name);
  });
  symbols_.shrink_to_fit();
}

SymbolTable::~SymbolTable() = default;

void SymbolTable::unpack(const File& file) {
  const Section* packed = file.find_section(".gnu_debugdata");
  if (packed == nullptr || !packed->has_file_bytes() || packed->size > kMaxPacked) return;
  std::vector<std::uint8_t> bytes(packed->size);
  if (!file.reader().read(packed->offset, std::as_writable_bytes(std::span(bytes)))) return;
  unpacked_ = std::make_unique<Unpacked>(unxz(bytes));
  const auto inner = File::open(unpacked_->reader);
  const Section* full = inner.has_value() ? inner->find_section(".symtab") : nullptr;
  if (full != nullptr) add(*inner, *full, true);
}

void SymbolTable::add(const File& file, const Section& section, bool is_unpacked) {
  if (!section.has_file_bytes() || section.link >= file.sections().size()) return;
  (is_unpacked ? unpacked_names_ : names_) = file.sections()[section.link].offset;
  std::vector<Elf64_Sym> chunk(kSymbolChunk);
  const std::uint64_t count = section.size / sizeof(Elf64_Sym);
  for (std::uint64_t i = 0; i < count && symbols_.size() < kMaxSymbols; i += kSymbolChunk) {
    chunk.resize(std::min<std::uint64_t>(kSymbolChunk, count - i));
    if (!file.reader().read(section.offset + i * sizeof(Elf64_Sym), std::as_writable_bytes(std::span(chunk)))) return;
    for (const Elf64_Sym& symbol : chunk) {
      if (!is_function(symbol)) continue;
      const auto size = static_cast<std::uint32_t>(std::min<std::uint64_t>(symbol.st_size, UINT32_MAX));
      symbols_.push_back({symbol.st_value, size, symbol.st_name, is_unpacked});
    }
  }
}

std::string SymbolTable::name_of(const Symbol& symbol) const {
  CachedReader& reader = symbol.is_unpacked ? unpacked_->reader : file_.reader();
  const std::uint64_t names = symbol.is_unpacked ? unpacked_names_ : names_;
  return reader.c_string(names + symbol.name, kMaxName).value_or("");
}

std::optional<FoundSymbol> SymbolTable::at(std::uint64_t address, std::uint64_t function) const {
  const auto after = std::ranges::upper_bound(symbols_, address, {}, &Symbol::begin);
  // Hand-written assembly has no size: it reaches to the next symbol, but not far.
  const auto holds = [&](const Symbol& symbol) {
    const bool is_of_function = function == 0 || symbol.begin >= function;
    return is_of_function && address - symbol.begin < (symbol.size == 0 ? kUnsizedReach : symbol.size);
  };
  std::optional<FoundSymbol> best;
  std::size_t seen = 0;
  for (auto it = after; it != symbols_.begin() && seen < kMaxAliases; ++seen) {
    --it;
    if (best && it->begin != best->begin) break;
    if (!holds(*it)) continue;
    std::string name = name_of(*it);
    if (name.empty() || (best && plainness(best->name) <= plainness(name))) continue;
    best = FoundSymbol{std::move(name), it->begin};
  }
  return best;
}

std::uint64_t SymbolTable::own_bytes() const {
  return symbols_.capacity() * sizeof(Symbol) + (unpacked_ ? unpacked_->bytes.capacity() : 0);
}

}  // namespace oomw::elf
