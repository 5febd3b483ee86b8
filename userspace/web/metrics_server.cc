// SPDX-License-Identifier: Apache-2.0
#include "web/metrics_server.h"

#include <cerrno>
#include <string>
#include <thread>
#include <utility>

#include "base/thread_setup.h"
#include "export/prometheus.h"
#include "web/bounded_server.h"
#include "web/listen_address.h"

namespace oomw {
namespace {

constexpr Nanoseconds kMaxSilence = std::chrono::seconds(10);
constexpr auto kMetricsType = "text/plain; version=0.0.4; charset=utf-8";
constexpr auto kTextType = "text/plain; charset=utf-8";

enum HttpStatus { kOk = 200, kNotFound = 404, kMethodNotAllowed = 405, kUnavailable = 503 };

void answer(httplib::Response& response, HttpStatus status, const std::string& body, const char* type = kTextType) {
  response.status = status;
  response.set_content(body, type);
}

// Stops the loop's thread and joins it, even when start() fails half way.
class ServerThread {
 public:
  explicit ServerThread(BoundedServer& server) : server_(server), thread_([this] { run(); }) {
    // A stop() before the loop has begun would be lost.
    while (!server_.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ~ServerThread() {
    server_.cancel();
    server_.stop();
    thread_.join();
  }
  ServerThread(const ServerThread&) = delete;
  ServerThread& operator=(const ServerThread&) = delete;

 private:
  void run() {
    set_up_thread("oomw-http");  // inherited by the pool's threads
    server_.listen_after_bind();
  }
  BoundedServer& server_;
  std::thread thread_;
};

}  // namespace

struct MetricsServer::Impl {
  Impl(Snapshot source, const Clock& a_clock) : snapshot(std::move(source)), clock(a_clock) {}

  Snapshot snapshot;
  const Clock& clock;  // outlives the server
  std::uint16_t port = 0;
  BoundedServer server;
  std::unique_ptr<ServerThread> thread;  // last: joined before the server is destroyed

  Result<> bind(const ListenAddress& address);
  void handle(const httplib::Request& request, httplib::Response& response) const;
  void health(httplib::Response& response) const;
  void readiness(httplib::Response& response) const;
};

Result<> MetricsServer::Impl::bind(const ListenAddress& address) {
  errno = 0;
  const int bound = address.port == 0                                      ? server.bind_to_any_port(address.host)
                    : server.bind_to_port(address.host, int{address.port}) ? int{address.port}
                                                                           : -1;
  if (bound <= 0) {
    const int err = errno != 0 ? errno : EADDRINUSE;
    return fail_errno(err, "listening on " + address.host + " port " + std::to_string(address.port));
  }
  port = static_cast<std::uint16_t>(bound);
  return {};
}

// Matches all routes by hand: httplib would match each path against regular expressions, which recurse.
void MetricsServer::Impl::handle(const httplib::Request& request, httplib::Response& response) const {
  response.set_header("X-Content-Type-Options", "nosniff");
  response.set_header("Cache-Control", "no-store");
  if (request.method != "GET") {
    response.set_header("Allow", "GET");
    return answer(response, kMethodNotAllowed, "only GET\n");
  }
  if (request.path == "/healthz") return health(response);
  if (request.path == "/readyz") return readiness(response);
  if (request.path != "/metrics") return answer(response, kNotFound, "see /metrics, /healthz, /readyz\n");
  const auto current = snapshot();
  if (!current) return answer(response, kUnavailable, "starting\n");
  answer(response, kOk, to_prometheus_text(*current), kMetricsType);
}

void MetricsServer::Impl::health(httplib::Response& response) const {
  const auto current = snapshot();
  if (!current || current->core_tick == MonotonicTime{}) return answer(response, kUnavailable, "starting\n");
  const Nanoseconds silence = clock.now() - current->core_tick;
  if (silence <= kMaxSilence) return answer(response, kOk, "ok\n");
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(silence).count();
  answer(response, kUnavailable, "core loop silent for " + std::to_string(seconds) + " s\n");
}

void MetricsServer::Impl::readiness(httplib::Response& response) const {
  const auto current = snapshot();
  if (current && current->ready) return answer(response, kOk, "ok\n");
  answer(response, kUnavailable, "starting: events do not flow yet\n");
}

MetricsServer::MetricsServer() = default;
MetricsServer::~MetricsServer() = default;

Result<std::unique_ptr<MetricsServer>> MetricsServer::start(const std::string& listen, Snapshot snapshot,
                                                            const Clock& clock) {
  ASSIGN_OR_RETURN(const ListenAddress address, parse_listen_address(listen));
  std::unique_ptr<MetricsServer> server(new MetricsServer());
  server->impl_ = std::make_unique<Impl>(std::move(snapshot), clock);
  Impl& impl = *server->impl_;
  RETURN_IF_ERROR(impl.bind(address));
  impl.server.set_pre_routing_handler([&impl](const httplib::Request& request, httplib::Response& response) {
    impl.handle(request, response);
    return httplib::Server::HandlerResponse::Handled;
  });
  impl.thread = std::make_unique<ServerThread>(impl.server);
  return server;
}

std::uint16_t MetricsServer::port() const { return impl_->port; }

}  // namespace oomw
