// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "captures/netns_socket.h"

namespace oomw {

enum class FetchStatus {
  kOk,  // 200 with the whole body
  kRefused,
  kTimeout,
  kHttpStatus,
  kRedirect,
  kTooLarge,
  kNotHttp,
  kTruncated,  // closed before the body's end, or before any answer
  kVetoed,     // `before_request` returned false
  kNetns,      // no socket in the target's namespace
  kInternal,
};

using BodySink = std::function<bool(std::string_view)>;

struct FetchRequest {
  std::string address;  // numeric
  std::uint16_t port = 0;
  std::string path;
  Nanoseconds timeout;
  std::uint64_t max_body_bytes = 0;
  std::uint64_t tail_bytes = 0;  // only the body's last tail_bytes are kept; 0 = all
  // Takes the body piece by piece instead of FetchResult::body; false = there is no room for more.
  BodySink sink{};
  // Called once connected and before anything is sent; false = give up.
  std::function<bool()> before_request;
};

struct FetchResult {
  FetchStatus status = FetchStatus::kInternal;
  std::string detail;  // for humans, harmless to print; "" when ok
  std::string body;
};

// One GET of one address, from inside `ns`: no redirect, proxy, cookie, DNS or connection reuse.
// A short-lived curl handle per call (0.1 ms), so that nothing of one process reaches another.
// Any thread.
[[nodiscard]] FetchResult fetch(const FetchRequest& request, const NetworkNamespace& ns);

// "http://[::1]:6060/debug/pprof/heap"
[[nodiscard]] std::string url_of(const std::string& address, std::uint16_t port, const std::string& path);

}  // namespace oomw
