// SPDX-License-Identifier: Apache-2.0
#include "web/site/site.h"

#include <utility>

#include "base/clock.h"
#include "web/site/assets.h"
#include "web/site/flame_route.h"
#include "web/site/incident_list.h"
#include "web/site/incident_routes.h"
#include "web/site/live_routes.h"

namespace oomw {
namespace {

constexpr const char* kHead =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

bool is_loopback(const std::string& host) { return host.starts_with("127.") || host == "::1"; }

}  // namespace

Result<std::unique_ptr<HttpServer>> start_site(Listener listener, const SiteConfig& config) {
  static const SystemClock clock;  // outlives the reader and the list, which the routes share
  const auto list = std::make_shared<IncidentList>(config.data_dir, clock);
  std::vector<Route> routes = incident_routes(list);
  const auto add = [&routes](std::vector<Route> more) {
    for (Route& route : more) routes.push_back(std::move(route));
  };
  routes.push_back(
      flame_route(config.data_dir, std::make_shared<reader::Reader>(clock, config.reader), config.patterns));
  add(live_routes(config.data_dir, config.daemon, list));
  add(asset_routes(config.daemon != nullptr));
  ServerPolicy policy;
  policy.answers_head = policy.is_for_local_hosts = true;
  policy.more_head = kHead;
  policy.not_found = "no such page: see /\n";
  return HttpServer::start("oomw-web", std::move(listener), std::move(routes), std::move(policy));
}

Result<Listener> open_site_listener(const std::string& listen) {
  ASSIGN_OR_RETURN(const ListenAddress address, parse_listen_address(listen));
  if (!is_loopback(address.host)) {
    return fail(ErrorCode::kInvalid, listen +
                                         " is not a loopback address: incidents hold command lines, so their pages are "
                                         "served to this machine only; reach them by a port-forward");
  }
  return Listener::open(address);
}

}  // namespace oomw
