// SPDX-License-Identifier: Apache-2.0
#include "sinks/s3/xml_reader.h"

#include <optional>
#include <vector>

#include "base/text.h"

namespace oomw {
namespace {

tl::unexpected<Error> malformed(const char* what) {
  return fail(ErrorCode::kInvalid, std::string("not an XML answer: ") + what);
}

void append_utf8(std::string& out, std::uint64_t c) {
  const auto add = [&](std::uint64_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) {
    add(c);
  } else if (c < 0x800) {
    add(0xC0 | (c >> 6));
    add(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    add(0xE0 | (c >> 12));
    add(0x80 | ((c >> 6) & 0x3F));
    add(0x80 | (c & 0x3F));
  } else {
    add(0xF0 | (c >> 18));
    add(0x80 | ((c >> 12) & 0x3F));
    add(0x80 | ((c >> 6) & 0x3F));
    add(0x80 | (c & 0x3F));
  }
}

// "amp", "#38", "#x26"; false: not known.
bool append_entity(std::string& out, std::string_view name) {
  if (name == "amp") return out += '&', true;
  if (name == "lt") return out += '<', true;
  if (name == "gt") return out += '>', true;
  if (name == "quot") return out += '"', true;
  if (name == "apos") return out += '\'', true;
  if (!name.starts_with('#')) return false;
  name.remove_prefix(1);
  const bool is_hex = name.starts_with('x');
  const auto code = parse_u64(name.substr(is_hex ? 1 : 0), is_hex ? 16 : 10);
  if (!code || *code == 0 || *code > 0x10FFFF || (*code >= 0xD800 && *code < 0xE000)) return false;
  append_utf8(out, *code);
  return true;
}

std::optional<std::string> resolved(std::string_view text) {
  constexpr std::size_t kMaxEntity = 10;
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '&') {
      out += text[i];
      continue;
    }
    const std::size_t end = text.substr(0, i + kMaxEntity).find(';', i);
    if (end == std::string_view::npos || !append_entity(out, text.substr(i + 1, end - i - 1))) return std::nullopt;
    i = end;
  }
  return out;
}

// Where the tag that begins at `begin` ends; npos: nowhere. A '>' in an attribute's quotes ends nothing.
std::size_t end_of_tag(std::string_view document, std::size_t begin) {
  char quote = '\0';
  for (std::size_t i = begin; i < document.size(); ++i) {
    const char c = document[i];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '>') {
      return i;
    }
  }
  return std::string_view::npos;
}

class Reader {
 public:
  explicit Reader(const XmlHandlers& handlers) : handlers_(handlers) {}

  // `tag`: what stands between < and >. `text`: what stands before it.
  Result<> take(std::string_view text, std::string_view tag) {
    if (tag.starts_with('?')) return {};
    if (tag.starts_with('!')) return malformed("a declaration or comment");
    if (tag.starts_with('/')) return close(text, trim(tag.substr(1)));
    const bool is_empty = tag.ends_with('/');
    if (is_empty) tag.remove_suffix(1);
    RETURN_IF_ERROR(open(tag.substr(0, tag.find_first_of(" \t\r\n"))));
    return is_empty ? close("", open_.back()) : Result<>{};
  }
  [[nodiscard]] bool is_done() const { return open_.empty(); }

 private:
  Result<> open(std::string_view name) {
    if (name.empty()) return malformed("a tag without a name");
    if (open_.size() == kMaxXmlLevels) return malformed("too deep");
    open_.push_back(name);
    is_leaf_ = true;
    if (handlers_.on_open) handlers_.on_open(name);
    return {};
  }

  Result<> close(std::string_view text, std::string_view name) {
    if (open_.empty() || open_.back() != name) return malformed("tags that do not match");
    open_.pop_back();
    const bool was_leaf = std::exchange(is_leaf_, false);
    if (!was_leaf || !handlers_.on_leaf) return {};
    std::optional<std::string> value = resolved(text);
    if (!value) return malformed("an unknown entity");
    handlers_.on_leaf(open_.empty() ? std::string_view() : open_.back(), name, std::move(*value));
    return {};
  }

  const XmlHandlers& handlers_;
  std::vector<std::string_view> open_;
  bool is_leaf_ = false;
};

}  // namespace

Result<> read_xml(std::string_view document, const XmlHandlers& handlers) {
  Reader reader(handlers);
  bool has_element = false;
  for (std::size_t at = 0; at < document.size();) {
    const std::size_t begin = document.find('<', at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = end_of_tag(document, begin);
    if (end == std::string_view::npos) return malformed("it is cut");
    const std::string_view tag = document.substr(begin + 1, end - begin - 1);
    RETURN_IF_ERROR(reader.take(document.substr(at, begin - at), tag));
    has_element = has_element || !tag.starts_with('?');
    at = end + 1;
  }
  if (!has_element || !reader.is_done()) return malformed("it is cut or empty");
  return {};
}

}  // namespace oomw
