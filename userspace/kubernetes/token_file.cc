// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/token_file.h"

#include <algorithm>

#include "base/files.h"
#include "base/text.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxTokenBytes = 32u << 10;

// A line break in the token would begin another header.
bool is_fit_for_a_header(std::string_view token) {
  return std::ranges::all_of(token, [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

Result<std::string> TokenFile::get(MonotonicTime now) {
  if (!token_.empty() && now - read_at_ < kMaxAge) return token_;
  token_.clear();
  ASSIGN_OR_RETURN(const std::string text, read_file(path_, kMaxTokenBytes));
  const std::string_view token = trim(text);
  if (token.empty()) return fail(ErrorCode::kInvalid, path_ + " is empty");
  if (!is_fit_for_a_header(token)) return fail(ErrorCode::kInvalid, path_ + " holds no token");
  token_ = token;
  read_at_ = now;
  return token_;
}

}  // namespace oomw
