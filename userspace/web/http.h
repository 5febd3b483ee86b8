// SPDX-License-Identifier: Apache-2.0
// The values of a small GET server: a request, its answer, a route.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace oomw {

enum HttpStatus {
  kHttpOk = 200,
  kHttpBadRequest = 400,
  kHttpNotFound = 404,
  kHttpMethodNotAllowed = 405,
  kHttpHeadTooLarge = 431,
  kHttpUnavailable = 503,
};

// As far as a server needs it that reads no bodies. Views into the head: valid while the handler runs.
struct HttpRequest {
  std::string_view method;
  std::string_view path;  // as sent, without the query: percent signs are not decoded
  bool accepts_gzip = false;
};

struct HttpResponse {
  HttpStatus status = kHttpOk;
  std::string type = "text/plain; charset=utf-8";
  // Shared, so that a hundred slow readers of 4 MiB hold 4 MiB.
  std::shared_ptr<const std::string> body;
  bool is_gzip = false;
};

[[nodiscard]] inline HttpResponse text_response(HttpStatus status, std::string text) {
  return {status, "text/plain; charset=utf-8", std::make_shared<const std::string>(std::move(text)), false};
}

// One path, matched whole. Handlers run one at a time on the server's thread and must not wait for anything.
struct Route {
  std::string method;
  std::string path;
  std::function<HttpResponse(const HttpRequest&)> handler;
  // Answered as soon as its head is there. The others queue, and between two of them all heads are read: an answer
  // that takes 50 ms to build delays health by those 50 ms, whatever waits behind it.
  bool is_urgent = false;
};

// `head` ends with the empty line. nullopt: not a request of HTTP/1.x.
[[nodiscard]] std::optional<HttpRequest> parse_request_head(std::string_view head);
// The head of an answer; the connection is closed behind it.
[[nodiscard]] std::string response_head(const HttpResponse& response);

}  // namespace oomw
