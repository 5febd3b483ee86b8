// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/api_error.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace oomw {

std::string_view to_string(ApiError error) {
  constexpr std::array<std::string_view, kApiErrors> kNames = {
      "none", "connect",      "tls",    "timeout",  "cut",  "token",        "unauthorized", "forbidden", "conflict",
      "gone", "rate_limited", "server", "redirect", "http", "content_type", "malformed",    "too_large", "internal"};
  const auto index = static_cast<std::size_t>(error);
  return index < kNames.size() ? kNames[index] : "internal";
}

ApiError error_of_status(long http_status) {
  switch (http_status) {
    case 401:
      return ApiError::kUnauthorized;
    case 403:
      return ApiError::kForbidden;
    case 409:
      return ApiError::kConflict;
    case 410:
      return ApiError::kGone;
    case 429:
      return ApiError::kRateLimited;
    default:
      break;
  }
  if (http_status / 100 == 2) return ApiError::kNone;
  if (http_status / 100 == 3) return ApiError::kRedirect;
  return http_status / 100 == 5 ? ApiError::kServer : ApiError::kHttp;
}

Nanoseconds parse_retry_after(std::string_view value) {
  constexpr std::uint64_t kMostSeconds = 3'600;
  const auto seconds = parse_u64(trim(value));
  return std::chrono::seconds(std::min(seconds.value_or(0), kMostSeconds));
}

}  // namespace oomw
