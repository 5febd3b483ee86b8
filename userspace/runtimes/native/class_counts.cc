// SPDX-License-Identifier: Apache-2.0
#include "runtimes/native/class_counts.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>

#include "base/text.h"

namespace oomw::native {
namespace {

// Each back-reference in a name may double what it stands for, so few of them are followed.
constexpr std::size_t kMaxName = 256, kMaxReferences = 8, kMaxShown = 160;
constexpr std::string_view kSharedBlock = "std::_Sp_counted_ptr_inplace<";

std::optional<std::uint64_t> word_at(const AddressSpace& space, std::uint64_t address) {
  std::array<std::byte, 8> bytes;
  const auto n = space.read_some(address, bytes);
  if (!n.has_value() || *n != bytes.size()) return std::nullopt;
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), sizeof word);
  return word;
}

std::string text_at(const AddressSpace& space, std::uint64_t address) {
  std::array<char, kMaxName + 1> text{};
  const auto n = space.read_some(address, std::as_writable_bytes(std::span(text)));
  if (!n.has_value()) return "";
  const std::string_view read(text.data(), *n);
  const std::size_t end = read.find('\0');
  return end == std::string_view::npos ? "" : std::string(read.substr(0, end));
}

std::size_t references(std::string_view name) {
  std::size_t count = 0;
  for (std::size_t i = 0; i + 1 < name.size(); ++i) {
    const auto next = static_cast<unsigned char>(name[i + 1]);
    count += (name[i] == 'S' || name[i] == 'T') && (next == '_' || std::isdigit(next) != 0 || std::isupper(next) != 0);
  }
  return count;
}

// The first argument of a template, "Session" of "Block<Session, std::allocator<void> >".
std::string_view first_argument(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<' || text[i] == '(') ++depth;
    if ((text[i] == ',' || text[i] == '>') && depth == 0) return text.substr(0, i);
    if (text[i] == '>' || text[i] == ')') --depth;
  }
  return text;
}

}  // namespace

std::string readable_type_name(std::string_view name) {
  if (name.starts_with('*')) name.remove_prefix(1);  // of a class that only one file knows
  const bool is_class = !name.empty() && name.size() <= kMaxName &&
                        (name[0] == 'N' || name[0] == 'S' || name[0] == 'Z' || (name[0] >= '1' && name[0] <= '9')) &&
                        std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  if (!is_class || references(name) > kMaxReferences) return "";
  const std::string mangled(name);
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  if (text == nullptr || status != 0) return "";
  std::string_view readable = text.get();
  if (readable.starts_with(kSharedBlock)) readable = first_argument(readable.substr(kSharedBlock.size()));
  return printable(readable, kMaxShown);
}

ClassCounts::ClassCounts(const AddressSpace& space) : space_(space) {
  for (const Mapping& mapping : space.map().mappings()) {
    if (!mapping.has_file() || mapping.is_shared || !mapping.is_readable || mapping.is_executable) continue;
    if (!data_.empty() && data_.back().end == mapping.begin) {
      data_.back().end = mapping.end;
    } else {
      data_.push_back({mapping.begin, mapping.end});
    }
  }
}

bool ClassCounts::may_be_table(std::uint64_t address) const {
  if (address % 8 != 0) return false;
  const auto after = std::ranges::upper_bound(data_, address, {}, &PageRange::begin);
  return after != data_.begin() && address < std::prev(after)->end;
}

void ClassCounts::chunk(std::uint64_t /*address*/, std::uint64_t bytes, std::span<const std::uint64_t, kWords> words) {
  if (!may_be_table(words[0])) return;
  if (pending_.size() >= kMaxTables && !pending_.contains(words[0])) return;
  Count& count = pending_[words[0]];
  ++count.objects;
  count.bytes += bytes;
}

void ClassCounts::keep() {
  for (const auto& [table, count] : pending_) {
    if (counts_.size() >= kMaxTables && !counts_.contains(table)) continue;
    counts_[table].objects += count.objects;
    counts_[table].bytes += count.bytes;
  }
  pending_.clear();
}

// In front of a vtable: how far its part lies behind the object's start (0 at the start), and the class's record, whose
// second word is the name.
std::string ClassCounts::class_of(std::uint64_t table) const {
  const auto offset = word_at(space_, table - 16), record = word_at(space_, table - 8);
  if (!offset || *offset != 0 || !record || !may_be_table(*record)) return "";
  const auto kind = word_at(space_, *record), name = word_at(space_, *record + 8);
  if (!kind || !may_be_table(*kind) || !name) return "";
  const Mapping* text = space_.map().at(*name);
  return text != nullptr && text->has_file() ? readable_type_name(text_at(space_, *name)) : "";
}

std::vector<ContentFiller> ClassCounts::named(std::uint64_t least_bytes, std::uint64_t blocks) const {
  const auto may_be_shown = [&](const Count& count) {
    return count.bytes >= least_bytes || (count.objects >= blocks / 2 && count.objects / 2 <= blocks && blocks > 0);
  };
  std::vector<std::pair<std::uint64_t, Count>> tables(counts_.begin(), counts_.end());
  std::erase_if(tables, [&](const auto& table) { return !may_be_shown(table.second); });
  std::ranges::sort(tables, [](const auto& a, const auto& b) {
    return std::pair(b.second.bytes, a.first) < std::pair(a.second.bytes, b.first);
  });
  if (tables.size() > kMaxNamed) tables.resize(kMaxNamed);
  std::map<std::string, ContentFiller> by_name;
  for (const auto& [table, count] : tables) {
    const std::string name = class_of(table);
    if (name.empty()) continue;
    ContentFiller& filler = by_name[name];
    filler.kind = ContentKind::kType;
    filler.name = name;
    filler.bytes += count.bytes;
    filler.count += count.objects;
  }
  std::vector<ContentFiller> fillers;
  for (auto& [name, filler] : by_name) fillers.push_back(std::move(filler));
  std::ranges::stable_sort(fillers, std::greater(), &ContentFiller::bytes);
  if (fillers.size() > MemoryContents::kMaxFillersOfKind) fillers.resize(MemoryContents::kMaxFillersOfKind);
  return fillers;
}

}  // namespace oomw::native
