// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"

namespace oomw {

// Why a request to the API server failed. The strings are metric labels.
enum class ApiError {
  kNone,
  kConnect,  // no route, refused, no such host
  kTls,      // certificate not of the cluster's CA, or another host's
  kTimeout,
  kCut,           // connection closed in the middle
  kToken,         // no token to send
  kUnauthorized,  // 401
  kForbidden,     // 403
  kConflict,      // 409
  kGone,          // 410: that version is no longer kept
  kRateLimited,   // 429
  kServer,        // 5xx
  kRedirect,
  kHttp,  // any other status
  kContentType,
  kMalformed,
  kTooLarge,
  kInternal,
};
inline constexpr int kApiErrors = static_cast<int>(ApiError::kInternal) + 1;

[[nodiscard]] std::string_view to_string(ApiError error);  // "connect", "tls", ...
[[nodiscard]] ApiError error_of_status(long http_status);  // kNone for 2xx

// How one request ended.
struct ApiOutcome {
  ApiError error = ApiError::kNone;
  std::string detail;         // for people, printable; "" without an error
  Nanoseconds retry_after{};  // requested by the server; 0 = it requested none
};

// Seconds of a Retry-After header, at most an hour; 0 for a date and for anything else.
[[nodiscard]] Nanoseconds parse_retry_after(std::string_view value);

}  // namespace oomw
