// SPDX-License-Identifier: Apache-2.0
#include "verdict/shell_word.h"

#include <algorithm>

namespace oomw {

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/:=@%+,-";  // '~' is not: it expands
  constexpr std::size_t kMaxBytes = 512;
  std::string word = text.starts_with('-') ? "./" : "";
  word += text.substr(0, kMaxBytes);
  std::ranges::replace_if(
      word, [](char c) { return c < 0x20 || c > 0x7e || c == '<' || c == '>'; }, '?');
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace oomw
