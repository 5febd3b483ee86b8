// SPDX-License-Identifier: Apache-2.0
#include "memory/memory_map.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>

namespace oomw {
namespace {

constexpr std::uint64_t kUserSpaceEnd = std::uint64_t{1} << 47;
constexpr std::size_t kPieceBytes = 64u << 10;

// Takes a number and, if there is one, the separator behind it.
std::optional<std::uint64_t> take_number(std::string_view& rest, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value, base);
  if (error != std::errc{}) return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  if (!rest.empty()) rest.remove_prefix(1);
  return value;
}

std::optional<Mapping> parse_line(std::string_view line) {
  Mapping mapping;
  const auto begin = take_number(line, 16), end = take_number(line, 16);
  if (!begin || !end || *end <= *begin || line.size() < 5) return std::nullopt;
  mapping.begin = *begin;
  mapping.end = *end;
  mapping.is_readable = line[0] == 'r';
  mapping.is_writable = line[1] == 'w';
  mapping.is_executable = line[2] == 'x';
  mapping.is_shared = line[3] == 's';
  line.remove_prefix(5);
  const auto offset = take_number(line, 16), major = take_number(line, 16), minor = take_number(line, 16);
  const auto inode = take_number(line, 10);
  if (!offset || !major || !minor || !inode) return std::nullopt;
  mapping.file_offset = *offset;
  mapping.device = (*major << 32) | *minor;
  mapping.inode = *inode;
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (line.size() > MemoryMap::kMaxName) line.remove_prefix(line.size() - MemoryMap::kMaxName);
  mapping.name = line;
  return mapping;
}

}  // namespace

std::string_view Mapping::file_name() const {
  std::string_view text = name;
  constexpr std::string_view kDeleted = " (deleted)";
  if (text.ends_with(kDeleted)) text.remove_suffix(kDeleted.size());
  const std::size_t slash = text.rfind('/');
  return slash == std::string_view::npos ? text : text.substr(slash + 1);
}

void MemoryMap::add_line(std::string_view line) {
  if (line.empty()) return;
  std::optional<Mapping> mapping = parse_line(line);
  if (mapping && mapping->begin >= kUserSpaceEnd) return;  // [vsyscall]
  const std::uint64_t last = mappings_.empty() ? 0 : mappings_.back().end;
  const bool is_sound = mapping && mapping->end <= kUserSpaceEnd && mapping->begin >= last;
  if (!is_sound || mappings_.size() >= kMaxMappings) {
    is_complete_ = false;
    return;
  }
  mappings_.push_back(std::move(*mapping));
}

MemoryMap MemoryMap::parse(std::string_view text) {
  MemoryMap map;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    map.add_line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return map;
}

Result<MemoryMap> MemoryMap::read(const ByteSource& maps) {
  std::string text;
  for (;;) {
    const std::size_t done = text.size();
    if (done >= kMaxText) break;
    text.resize(done + kPieceBytes);
    const std::span<char> piece(text.data() + done, kPieceBytes);
    Result<std::size_t> n = maps.read_some(done, std::as_writable_bytes(piece));
    if (!n.has_value()) return tl::unexpected(n.error());
    text.resize(done + *n);
    if (*n == 0) break;
  }
  MemoryMap map = parse(text);
  if (text.size() >= kMaxText) map.is_complete_ = false;
  return map;
}

const Mapping* MemoryMap::at(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(mappings_, address, {}, &Mapping::begin);
  if (after == mappings_.begin()) return nullptr;
  const Mapping& found = *std::prev(after);
  return address < found.end ? &found : nullptr;
}

}  // namespace oomw
