// SPDX-License-Identifier: Apache-2.0
#include "growth/code_texts.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <string_view>

namespace oomw::growth {
namespace {

constexpr std::size_t kMaxAddresses = 256;                       // of one function
constexpr std::size_t kLeast = 6, kMostShown = 48, kMost = 160;  // characters; shorter ones are in every program

bool is_constant(const elf::Section& section) {
  return section.has_file_bytes() && (section.flags & SHF_ALLOC) != 0 &&
         (section.flags & (SHF_WRITE | SHF_EXECINSTR)) == 0 && section.name.starts_with(".rodata");
}

// What lea takes relative to the next instruction, and what a program at a fixed address moves to a register.
std::set<std::uint64_t> addresses_in(std::span<const std::uint8_t> bytes, std::uint64_t begin) {
  constexpr std::size_t kLongest = 7;
  std::set<std::uint64_t> found;
  for (std::size_t at = 0; at + kLongest <= bytes.size() && found.size() < kMaxAddresses; ++at) {
    const bool is_lea = (bytes[at] & 0xfb) == 0x48 && bytes[at + 1] == 0x8d && (bytes[at + 2] & 0xc7) == 0x05;
    const bool is_move = (bytes[at] & 0xf8) == 0xb8;
    if (!is_lea && !is_move) continue;
    std::int32_t value = 0;
    std::memcpy(&value, &bytes[at + (is_lea ? 3 : 1)], sizeof value);
    found.insert((is_lea ? begin + at + kLongest : 0) + static_cast<std::uint64_t>(std::int64_t{value}));
  }
  return found;
}

bool is_of_library(std::string_view text) {
  constexpr std::array<std::string_view, 6> kStarts = {
      "basic_string", "vector::", "cannot create std::", "deque::", "std::vector", "cannot create std"};
  return std::ranges::any_of(kStarts, [&](std::string_view start) { return text.starts_with(start); });
}

std::optional<std::string> text_at(const elf::File& file, std::uint64_t address) {
  const auto section = std::ranges::find_if(file.sections(), [&](const elf::Section& one) {
    return is_constant(one) && one.addresses().contains(address) && one.address < address;
  });
  if (section == file.sections().end()) return std::nullopt;
  std::array<char, kMost + 2> bytes{};  // with what stands before
  const std::size_t size = std::min<std::uint64_t>(bytes.size(), section->addresses().end - address + 1);
  if (!file.read_at(address - 1, std::as_writable_bytes(std::span(bytes).first(size)))) return std::nullopt;
  const std::string_view all(bytes.data() + 1, size - 1);
  const std::string_view text = all.substr(0, all.find('\0'));
  const bool is_whole = bytes[0] == '\0' && text.size() < all.size() && text.size() >= kLeast;
  const auto is_plain = [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\t'; };
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (!is_whole || !std::ranges::all_of(text, is_plain) || is_of_library(text)) return std::nullopt;
  return std::ranges::count_if(text, is_letter) * 2 < std::ssize(text) ? std::nullopt
                                                                       : std::optional(std::string(text));
}

// One line, without what a line ends with.
std::string shown(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  text.erase(text.find_last_not_of(' ') + 1);
  if (text.size() > kMostShown) text.replace(kMostShown - 3, std::string::npos, "...");
  return text;
}

}  // namespace

std::vector<std::string> texts_used_by(const elf::File& file, elf::AddressRange code) {
  std::vector<std::uint8_t> bytes(std::min(code.size(), kMaxCodeWithTexts));
  if (!file.read_at(code.begin, std::as_writable_bytes(std::span(bytes)))) return {};
  std::vector<std::string> texts;
  for (const std::uint64_t address : addresses_in(bytes, code.begin)) {
    if (auto text = text_at(file, address)) texts.push_back(shown(std::move(*text)));
  }
  std::ranges::sort(texts);
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  std::ranges::stable_sort(texts, std::greater<>(), &std::string::size);
  texts.resize(std::min(texts.size(), kMaxTexts));
  return texts;
}

}  // namespace oomw::growth
