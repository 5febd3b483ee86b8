// SPDX-License-Identifier: Apache-2.0
#include "export/label.h"

#include <cstdint>

#include <fmt/format.h>

#include "base/text.h"

namespace oomw {
namespace {

constexpr std::size_t kHashBytes = 9;  // "~" and eight hex digits

// FNV-1a: the same in every build and on every machine, which std::hash does not promise.
std::uint32_t stable_hash(std::string_view bytes) {
  std::uint32_t hash = 2'166'136'261;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 16'777'619;
  return hash;
}

// The longest prefix of valid UTF-8 that fits and does not end inside a character.
std::string_view cut(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  std::size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace

std::string to_label(std::string_view value) {
  const std::string shown = printable(value, kMaxLabelBytes);
  if (shown == value && shown.size() <= kMaxLabelBytes) return shown;
  return fmt::format("{}~{:08x}", cut(shown, kMaxLabelBytes - kHashBytes), stable_hash(value));
}

}  // namespace oomw
