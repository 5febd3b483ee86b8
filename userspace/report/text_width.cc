// SPDX-License-Identifier: Apache-2.0
#include "report/text_width.h"

#include <algorithm>
#include <clocale>
#include <cwchar>

#include "base/text.h"

namespace oomw {
namespace {

// wcwidth() knows ASCII alone in the "C" locale, in which this program runs.
class Utf8Locale {
 public:
  Utf8Locale() : utf8_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (utf8_ != nullptr) before_ = ::uselocale(utf8_);
  }
  ~Utf8Locale() {
    if (utf8_ == nullptr) return;
    ::uselocale(before_);
    ::freelocale(utf8_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  locale_t utf8_;
  locale_t before_ = nullptr;
};

struct Character {
  std::size_t bytes = 0, columns = 0;
};

Character first_character(std::string_view text) {
  const std::size_t bytes = std::min(bytes_of_character(text[0]), text.size());
  if (bytes == 1) return {1, 1};
  auto code = static_cast<wchar_t>(static_cast<unsigned char>(text[0]) & (0xFFu >> (bytes + 1)));
  for (std::size_t i = 1; i < bytes; ++i) {
    code = static_cast<wchar_t>(code << 6 | (static_cast<unsigned char>(text[i]) & 0x3F));
  }
  const int columns = ::wcwidth(code);
  return {bytes, columns < 0 ? 1 : static_cast<std::size_t>(columns)};
}

bool is_ascii(std::string_view text) {
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0x80) != 0) return false;
  }
  return true;
}

}  // namespace

std::size_t width_of(std::string_view text) {
  if (is_ascii(text)) return text.size();
  const Utf8Locale locale;
  std::size_t width = 0;
  while (!text.empty()) {
    const Character character = first_character(text);
    width += character.columns;
    text.remove_prefix(character.bytes);
  }
  return width;
}

std::string_view front_of(std::string_view text, std::size_t columns) {
  if (is_ascii(text)) return text.substr(0, columns == 0 ? 1 : columns);
  const Utf8Locale locale;
  std::size_t end = 0, used = 0;
  while (end < text.size()) {
    const Character character = first_character(text.substr(end));
    if (end > 0 && used + character.columns > columns) break;
    used += character.columns;
    end += character.bytes;
  }
  return text.substr(0, end);
}

}  // namespace oomw
