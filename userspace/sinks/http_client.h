// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "sinks/delivery.h"

namespace oomw {

// Where requests go and what they carry. Secrets come by reference: from a file or from the environment.
struct HttpEndpoint {
  std::string url;                         // http:// or https://
  std::vector<std::string> headers;        // "Name: value"; may hold secrets, so they are never printed
  std::string headers_file;                // the same, one a line, read for each request: tokens are replaced in place
  std::string ca_file;                     // "" = the system's CAs
  std::string certificate_file, key_file;  // of the client; "" = none
  Nanoseconds timeout = std::chrono::seconds(10);
};

// What "{name}" in a header of headers_file stands for; nullopt: nothing, it stays as it is.
using HeaderField = std::function<std::optional<std::string>(std::string_view name)>;

struct HttpPost {
  std::string_view body;
  std::string content_type;
  bool gzip = false;
  HeaderField header_field = {};  // empty: braces mean nothing
};

struct HttpAnswer {
  long status = 0;  // 0 = there is no answer, see failure
  std::string body, content_type;
  Nanoseconds retry_after{};
  DeliveryReason failure = DeliveryReason::kNone;
  std::string detail;  // of the failure, printable
};

// POSTs to one endpoint over a connection that is kept open. TLS 1.2 or newer, verified against the CA and the host's
// name; no redirect is followed, no proxy used. An answer of more than kMaxAnswer bytes is cut off and a failure. One
// thread.
class HttpClient {
 public:
  static constexpr std::size_t kMaxAnswer = 64u << 10;  // those of all sinks are a sentence at most
  // Requests end within a second once *stopping is true.
  HttpClient(HttpEndpoint endpoint, std::shared_ptr<const std::atomic<bool>> stopping);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  [[nodiscard]] HttpAnswer post(const HttpPost& request);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// "http://host..." or "https://host...", without white space, control characters, user and password.
[[nodiscard]] bool is_http_url(std::string_view url);
// Lines "Name: value" of a text; empty lines and those that begin with '#' are left out. kInvalid: another line.
[[nodiscard]] Result<std::vector<std::string>> parse_header_lines(std::string_view text);
// A line "Name: value" with its fields filled in. They may be anyone's text: what is not plain ASCII becomes '?', and
// each has 256 bytes at most.
[[nodiscard]] std::string filled_header(const std::string& line, const HeaderField& field);
// What a status means, by the rules of OTLP/HTTP, for every sink: 429, 502, 503 and 504 may work later, as may a
// failure to connect or an answer cut short. Everything else but 2xx is a refusal.
[[nodiscard]] Delivery delivery_of(const HttpAnswer& answer);
// Retry-After: seconds or an HTTP date; at most an hour, 0 for anything else.
[[nodiscard]] Nanoseconds retry_after_of(std::string_view value, WallTime now);

}  // namespace oomw
