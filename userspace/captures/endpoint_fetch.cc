// SPDX-License-Identifier: Apache-2.0
#include "captures/endpoint_fetch.h"

#include <utility>

#include "captures/netns_socket.h"

namespace oomw {

FetchResult fetch_endpoint(const TargetProcess& process, const PprofEndpoint& endpoint, const std::string& path,
                           Nanoseconds timeout, std::uint64_t max_body_bytes, std::uint64_t tail_bytes, BodySink sink) {
  const auto ns = open_network_namespace(process.dir_fd());
  if (!ns) return {FetchStatus::kNetns, ns.error().message, ""};
  if (ns->inode != endpoint.netns_inode) return {FetchStatus::kVetoed, "it changed its network namespace", ""};
  FetchRequest request{endpoint.address, endpoint.port, path, timeout, max_body_bytes, tail_bytes, std::move(sink), {}};
  request.before_request = [&] {
    return process.is_alive() && process.holds_socket(endpoint.fd, endpoint.socket_inode);
  };
  return fetch(request, *ns);
}

}  // namespace oomw
