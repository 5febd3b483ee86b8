// SPDX-License-Identifier: Apache-2.0
#include "web/metrics_server.h"

#include <atomic>
#include <utility>
#include <vector>

#include "web/http_server.h"
#include "web/listen_address.h"
#include "web/metrics_route.h"

namespace oomw {

struct MetricsServer::Impl {
  std::unique_ptr<HttpServer> server;
  // The server while it is there, for its own count in the text: set once it has started.
  std::atomic<const HttpServer*> counted = nullptr;

  LiveFigures figures(const Clock& clock, const CoreWatch& core) const {
    LiveFigures figures;
    if (core.stalls != nullptr) figures.core_stall_seconds = to_seconds(core.stalls->longest(clock.now()));
    if (const HttpServer* running = counted) figures.http_connections_cut = running->cut_connections();
    return figures;
  }
};

MetricsServer::MetricsServer() : impl_(std::make_unique<Impl>()) {}
MetricsServer::~MetricsServer() = default;

Result<std::unique_ptr<MetricsServer>> MetricsServer::start(const std::string& listen, SnapshotSource snapshot,
                                                            const Clock& clock, CoreWatch core) {
  ASSIGN_OR_RETURN(const ListenAddress address, parse_listen_address(listen));
  std::unique_ptr<MetricsServer> server(new MetricsServer());
  Impl& impl = *server->impl_;
  std::vector<Route> routes = {
      health_route(snapshot, clock, core), readiness_route(snapshot),
      metrics_route(snapshot, clock, [&impl, &clock, core] { return impl.figures(clock, core); })};
  ASSIGN_OR_RETURN(Listener listener, Listener::open(address));
  ServerPolicy policy;
  policy.not_found = "see /metrics, /healthz, /readyz\n";
  ASSIGN_OR_RETURN(impl.server,
                   HttpServer::start("oomw-metrics", std::move(listener), std::move(routes), std::move(policy)));
  impl.counted = impl.server.get();
  return server;
}

std::uint16_t MetricsServer::port() const { return impl_->server->port(); }

}  // namespace oomw
