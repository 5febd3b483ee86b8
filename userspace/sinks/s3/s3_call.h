// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "sinks/s3/sigv4.h"

namespace oomw {

// A request to a bucket, or to what gives its credentials.
struct S3Call {
  std::string method, url;
  HttpFields headers;
  std::string body;              // or
  int body_fd = -1;              // a plain file, sent from its beginning:
  std::uint64_t body_bytes = 0;  // so much of it
  std::string ca_file;           // "" = the system's
  Nanoseconds timeout = std::chrono::seconds(30);
  std::size_t max_answer_bytes = 1u << 20;
  // Given a 2xx answer's bytes as they come; empty: they are kept in S3Answer::body.
  std::function<Result<>(std::string_view bytes)> on_bytes;
  const std::atomic<bool>* stopping = nullptr;  // true: the call ends soon
};

enum class S3Failure : std::uint8_t { kNone, kConnect, kTls, kTimeout, kCut, kTooLong, kOther };

struct S3Answer {
  long status = 0;  // 0 = none came
  std::string body;
  std::string retry_after;  // the header's value
  S3Failure failure = S3Failure::kNone;
  std::string detail;  // of the failure, printable
  [[nodiscard]] bool is_ok() const { return failure == S3Failure::kNone && status >= 200 && status < 300; }
};

// One request and its whole answer, within the bounds of base/bounded_curl: no redirect, no proxy. Blocks.
[[nodiscard]] S3Answer perform(const S3Call& call);
// How callers take it as a parameter.
using S3Perform = std::function<S3Answer(const S3Call&)>;

}  // namespace oomw
