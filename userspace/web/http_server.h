// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "web/http.h"
#include "web/listen_address.h"
#include "web/listener.h"

namespace oomw {

// A GET server with bounds for all that a stranger can make it spend. One thread, one epoll: a peer that sends or
// reads slowly holds a connection and nothing else.
//   - a request's head has kMaxHeadBytes and kHeadDeadline, its answer kAnswerDeadline, each piece of a stream the same
//     and the whole of it kStreamDeadline;
//   - one request per connection, so none is idle for longer than that; bodies are never read;
//   - PeerLimits says how many connections there may be, and which one is closed for another;
//   - urgent routes are answered at once, the others one at a time between two readings of all heads (Route).
// Connections that a limit or a deadline ended are counted.
class HttpServer {
 public:
  static constexpr std::size_t kMaxHeadBytes = 8'192;
  static constexpr Nanoseconds kHeadDeadline = std::chrono::seconds(2);
  static constexpr Nanoseconds kAnswerDeadline = std::chrono::seconds(10);
  static constexpr Nanoseconds kStreamDeadline = std::chrono::minutes(10);

  // Threads for the handlers that want one are started too.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> start(const std::string& thread_name, Listener listener,
                                                                 std::vector<Route> routes, ServerPolicy policy);
  ~HttpServer();  // stops and joins: a handler that runs ends first
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::uint64_t cut_connections() const;       // since the start; any thread
  [[nodiscard]] std::uint64_t accepted_connections() const;  // likewise
  [[nodiscard]] std::size_t open_connections() const;        // any thread

 private:
  HttpServer();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomw
