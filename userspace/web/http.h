// SPDX-License-Identifier: Apache-2.0
// The values of a small GET server: a request, its answer, a route.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace oomw {

enum HttpStatus {
  kHttpOk = 200,
  kHttpBadRequest = 400,
  kHttpForbidden = 403,
  kHttpNotFound = 404,
  kHttpMethodNotAllowed = 405,
  kHttpHeadTooLarge = 431,
  kHttpInternalError = 500,
  kHttpUnavailable = 503,
};

// As far as a server needs it that reads no bodies. Views into the head: valid while the handler runs.
struct HttpRequest {
  std::string_view method;
  std::string_view path;   // as sent, without the query: percent signs are not decoded
  std::string_view query;  // behind the '?', as sent
  std::string_view host;   // of the Host header; "" = none, or several
  bool accepts_gzip = false;
};

// A body that is made while it is sent, for what is too large to hold.
class BodySource {
 public:
  virtual ~BodySource() = default;
  // The next piece, at most 64 KiB; "" = the end. Runs on the server's thread between two readings of all heads: it
  // must not take longer than milliseconds. An error resets the connection.
  [[nodiscard]] virtual Result<std::string> next() = 0;
};

struct HttpResponse {
  HttpStatus status = kHttpOk;
  std::string type = "text/plain; charset=utf-8";
  // Shared, so that a hundred slow readers of 4 MiB hold 4 MiB.
  std::shared_ptr<const std::string> body;
  bool is_gzip = false;
  std::string more_head = {};                    // whole header lines, each with its line end
  std::shared_ptr<BodySource> stream = nullptr;  // sent behind the body; the answer then has no length
};

[[nodiscard]] inline HttpResponse text_response(HttpStatus status, std::string text) {
  return {status, "text/plain; charset=utf-8", std::make_shared<const std::string>(std::move(text))};
}

// Where a handler runs. On the server's thread it must not wait for anything. The workers are one thread each, so
// handlers of one kind never run at the same time.
enum class RunsOn {
  kServer,
  kWorker,      // reads the disk
  kSlowWorker,  // waits for another process; the others are answered meanwhile
};

// One path, matched whole; the first route that fits is taken. A part of it that is "*" stands for any one part:
// "/i/*/files/*", and "*.svg" for one with that end.
struct Route {
  std::string method;
  std::string path;
  std::function<HttpResponse(const HttpRequest&)> handler;
  // Answered as soon as its head is there. The others queue, and between two of them all heads are read: an answer
  // that takes 50 ms to build delays health by those 50 ms, whatever waits behind it.
  bool is_urgent = false;
  RunsOn runs_on = RunsOn::kServer;
};

// What a whole server does, whatever the route.
struct ServerPolicy {
  bool answers_head = false;        // HEAD as GET without a body; else 405
  bool is_for_local_hosts = false;  // only Host names that no other site's page can be loaded from
  std::string more_head;            // header lines of every answer
  std::string not_found;            // the text for paths without a route
};

// `head` ends with the empty line. nullopt: not a request of HTTP/1.x.
[[nodiscard]] std::optional<HttpRequest> parse_request_head(std::string_view head);
// The head of an answer; the connection is closed behind it.
[[nodiscard]] std::string response_head(const HttpResponse& response);
[[nodiscard]] bool fits(std::string_view pattern, std::string_view path);
// The parts of `path` that stand where `pattern` has "*", decoded. Only for a path that fits.
[[nodiscard]] std::vector<std::string> parts_of(std::string_view pattern, std::string_view path);
// The first value of a name in a query, decoded ("%41" and "+"); "" = not there.
[[nodiscard]] std::string query_value(std::string_view query, std::string_view name);
// "localhost", or an address in numbers, with or without a port. A page of another site that reaches this server by
// DNS rebinding sends that site's name.
[[nodiscard]] bool is_local_host(std::string_view host);

}  // namespace oomw
