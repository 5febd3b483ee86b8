// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/list_splitter.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxKeyBytes = 64;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool opens(char c) { return c == '{' || c == '['; }
bool closes(char c) { return c == '}' || c == ']'; }

}  // namespace

Result<> ListSplitter::feed(std::string_view bytes, const OnItem& on_item) {
  for (const char c : bytes) RETURN_IF_ERROR(take(c, on_item));
  return {};
}

Result<> ListSplitter::take(char c, const OnItem& on_item) {
  const bool was_between = is_between_items();
  const bool was_in_item = is_in_item();
  track(c);
  if (depth_ < 0) return fail(ErrorCode::kInvalid, "a list with more brackets closed than opened");
  if (was_between && !is_in_item()) {
    if (is_between_items() && (is_in_text_ || (!is_space(c) && c != ','))) {
      return fail(ErrorCode::kInvalid, "a list of something else than objects");
    }
    if (is_between_items()) return {};
  }
  if (was_in_item || is_in_item()) {
    if (item_.size() >= kMaxItemBytes) return fail(ErrorCode::kLimit, "one pod of a list is larger than 2 MiB");
    item_ += c;
    if (is_in_item()) return {};
    on_item(item_);
    item_.clear();
    return {};
  }
  if (rest_.size() >= kMaxRestBytes) return fail(ErrorCode::kLimit, "a list's own fields are larger than 64 KiB");
  rest_ += c;
  return {};
}

void ListSplitter::track(char c) {
  if (is_in_text_) {
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (c == '\\') {
      is_escaped_ = true;
    } else if (c == '"') {
      is_in_text_ = false;
    }
    if (is_in_text_ && depth_ == 1 && last_text_.size() < kMaxKeyBytes) last_text_ += c;
  } else if (c == '"') {
    is_in_text_ = true;
    if (depth_ == 1) last_text_.clear();
  } else if (opens(c)) {
    is_in_items_ = is_in_items_ || (depth_ == 1 && c == '[' && last_text_ == "items");
    ++depth_;
  } else if (closes(c)) {
    --depth_;
    if (depth_ < 2) is_in_items_ = false;
  }
}

Result<std::string_view> ListSplitter::finish() const {
  if (depth_ != 0 || is_in_text_ || rest_.empty()) return fail(ErrorCode::kInvalid, "a list that broke off");
  return std::string_view(rest_);
}

}  // namespace oomw
