// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace oomw {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::string_view kEllipsis = "...";

struct Character {
  char32_t code = 0;
  std::size_t length = 1;  // bytes
  bool valid = false;
};

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Length announced by a first byte and its payload bits; length 0 = cannot start a character.
Character announced_by(unsigned char first) {
  if (first < 0x80) return {first, 1, true};
  if (first >= 0xC2 && first <= 0xDF) return {first & 0x1Fu, 2, true};
  if (first >= 0xE0 && first <= 0xEF) return {first & 0x0Fu, 3, true};
  if (first >= 0xF0 && first <= 0xF4) return {first & 0x07u, 4, true};
  return {first, 1, false};
}

// Overlong forms of two bytes are excluded by the first byte already (C0, C1).
bool is_scalar_of_length(char32_t code, std::size_t length) {
  if (code >= 0xD800 && code <= 0xDFFF) return false;
  if (length == 3) return code >= 0x800;
  if (length == 4) return code >= 0x10000 && code <= 0x10FFFF;
  return true;
}

// The character at the front of `bytes` (not empty); a malformed one is one byte long.
Character first_character(std::string_view bytes) {
  const auto first = static_cast<unsigned char>(bytes[0]);
  Character character = announced_by(first);
  const Character malformed{first, 1, false};
  if (!character.valid || character.length > bytes.size()) return malformed;
  for (const char byte : bytes.substr(1, character.length - 1)) {
    if (!is_continuation(byte)) return malformed;
    character.code = (character.code << 6) | (static_cast<unsigned char>(byte) & 0x3Fu);
  }
  return is_scalar_of_length(character.code, character.length) ? character : malformed;
}

struct Range {
  char32_t first, last;
};

// Invisible or able to reorder what surrounds it: C1 controls, the soft hyphen, zero-width and bidi
// marks, line and paragraph separators, bidi overrides and isolates, the byte order mark, annotation
// marks, tags.
constexpr std::array<Range, 10> kDeceptive = {{{0x80, 0x9F},
                                               {0xAD, 0xAD},
                                               {0x61C, 0x61C},
                                               {0x180E, 0x180E},
                                               {0x200B, 0x200F},
                                               {0x2028, 0x202E},
                                               {0x2060, 0x206F},
                                               {0xFEFF, 0xFEFF},
                                               {0xFFF9, 0xFFFB},
                                               {0xE0000, 0xE007F}}};

bool is_deceptive(char32_t code) {
  return std::ranges::any_of(kDeceptive, [code](Range range) { return code >= range.first && code <= range.last; });
}

std::string printable_form(const Character& character, std::string_view bytes) {
  if (!character.valid || character.code < 0x20 || character.code == 0x7F) {
    return fmt::format("\\x{:02x}", static_cast<unsigned>(character.code));
  }
  if (is_deceptive(character.code)) return fmt::format("\\u{{{:04x}}}", static_cast<unsigned>(character.code));
  return std::string(bytes.substr(0, character.length));
}

// The number of characters in an output of printable_form(): its escapes are ASCII.
std::size_t width_of(std::string_view form) {
  return static_cast<std::size_t>(std::count_if(form.begin(), form.end(), [](char c) { return !is_continuation(c); }));
}

bool is_file_safe(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

}  // namespace

std::string to_valid_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Character character = first_character(bytes);
    text += character.valid ? bytes.substr(0, character.length) : kReplacement;
    bytes.remove_prefix(character.length);
  }
  return text;
}

std::string printable(std::string_view bytes, std::size_t max_chars) {
  std::string text;
  std::size_t width = 0;
  // Where to cut if the rest does not fit: the end of the last character that leaves room for "...".
  std::size_t cut = 0;
  while (!bytes.empty()) {
    const Character character = first_character(bytes);
    const std::string form = printable_form(character, bytes);
    width += width_of(form);
    if (width > max_chars) {
      text.resize(cut);
      return text.append(kEllipsis.substr(0, max_chars));
    }
    text += form;
    if (width + kEllipsis.size() <= max_chars) cut = text.size();
    bytes.remove_prefix(character.length);
  }
  return text;
}

std::string_view front_bytes(std::string_view text, std::size_t max_bytes) {
  std::size_t end = std::min(text.size(), max_bytes);
  while (end > 0 && end < text.size() && is_continuation(text[end])) --end;
  return text.substr(0, end);
}

std::string shortened(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  const std::size_t most = max_bytes - std::min(max_bytes, kEllipsis.size());
  std::size_t word = 0, whole = 0, statement = 0, open = 0;
  bool is_quoted = false;
  for (std::size_t i = 0; i <= most; ++i) {
    const char c = text[i];
    if (c == '`') is_quoted = !is_quoted;
    if (c == '(' || c == '[') ++open;
    if ((c == ')' || c == ']') && open > 0) --open;
    if (c != ' ') continue;
    word = i;
    if (is_quoted || open > 0) continue;
    whole = i;
    if (i > 0 && text[i - 1] == '.') statement = i;
  }
  std::size_t end = most;
  for (const std::size_t better : {word, whole, statement}) {
    if (better > most / 2) end = better;
  }
  end = front_bytes(text, end).size();
  while (end > 0 && std::string_view("\\*,;:.-> ").find(text[end - 1]) != std::string_view::npos) --end;
  return std::string(text.substr(0, end)).append(kEllipsis.substr(0, max_bytes));
}

std::string to_file_component(std::string_view bytes, std::size_t max_bytes) {
  std::string name(bytes.substr(0, max_bytes));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !is_file_safe(c); }, '_');
  if (name.empty()) return "_";
  if (name[0] == '.' || name[0] == '-') name[0] = '_';
  return name;
}

std::string to_markdown(std::string_view bytes, std::size_t max_chars) {
  // '&' and '~' too: an entity would restore what printable() removed, and "~~" strikes text through.
  constexpr std::string_view kSpecial = "|`*_<>[]\\&~";
  std::string text;
  for (const char c : printable(bytes, max_chars)) {
    if (kSpecial.find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

bool is_lower_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<std::uint64_t> parse_u64(std::string_view text, int base) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  // 1023.5 would round to 1024 of its unit, which is 1.00 of the next.
  while (value >= 1023.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, kUnits[unit]);
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    hex += kDigits[static_cast<unsigned char>(byte) >> 4];
    hex += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return hex;
}

std::string human_signed_bytes(double bytes) {
  if (std::isnan(bytes)) return "unknown";
  if (std::isinf(bytes)) return bytes < 0 ? "-inf" : "inf";
  constexpr double kMost = 1e18;  // fits 64 bits
  const auto size = static_cast<std::uint64_t>(std::min(std::fabs(bytes), kMost));
  return (bytes < 0 && size > 0 ? "-" : "") + human_bytes(size);
}

std::size_t bytes_of_character(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string parent_path(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos || slash == 0 ? "/" : std::string(path.substr(0, slash));
}

bool is_at_or_below(std::string_view path, std::string_view ancestor) {
  if (ancestor == "/") return true;
  return path.starts_with(ancestor) && (path.size() == ancestor.size() || path[ancestor.size()] == '/');
}

}  // namespace oomw
