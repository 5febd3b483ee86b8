// SPDX-License-Identifier: Apache-2.0
#include "pprof/flame_text.h"

#include <algorithm>

#include "base/text.h"
#include "pprof/group.h"

namespace oomw::pprof {
namespace {

constexpr std::string_view kCut = "..";

// Scripts of double width begin at U+1100. Three-byte characters begin a little earlier, at U+0800.
std::size_t columns_of(std::size_t length) { return length >= 3 ? 2 : 1; }

std::string_view entity_of(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

bool is_noncharacter(std::string_view text) {
  return text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF");
}

}  // namespace

std::string to_xml(std::string_view bytes, std::size_t max_chars) {
  const std::string text = printable(bytes, max_chars);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_noncharacter(std::string_view(text).substr(i))) {
      out += "\xEF\xBF\xBD";  // U+FFFD
      i += 2;
    } else if (const std::string_view entity = entity_of(text[i]); !entity.empty()) {
      out += entity;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string fit(std::string_view text, std::size_t columns) {
  if (columns < 3) return "";
  std::size_t used = 0;
  std::size_t cut = 0;  // the last end that leaves room for kCut
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = bytes_of_character(text[i]);
    used += columns_of(length);
    if (used > columns) return std::string(text.substr(0, cut)).append(kCut);
    i += length;
    if (used + kCut.size() <= columns) cut = i;
  }
  return std::string(text);
}

std::string_view short_name(std::string_view function) {
  const std::size_t slash = package_of(function).rfind('/');
  return slash == std::string_view::npos ? function : function.substr(slash + 1);
}

std::string_view bare_name(std::string_view function) {
  const std::string_view rest = function.substr(package_of(function).size());
  const std::string_view bare = rest.substr(std::min(rest.find_first_not_of(".:"), rest.size()));
  return bare.empty() ? function : bare;
}

}  // namespace oomw::pprof
