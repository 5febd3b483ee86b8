// SPDX-License-Identifier: Apache-2.0
#include "web/peer_limits.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace oomw {

std::optional<std::uint64_t> PeerLimits::victim(const std::vector<Connection>& connections, const std::string& peer) {
  std::map<std::string, std::size_t> counts;
  for (const Connection& connection : connections) ++counts[connection.peer];
  std::string loser = peer;
  if (counts[peer] < kMaxPerPeer) {
    if (connections.size() < kMaxConnections) return std::nullopt;
    const auto by_count = [](const auto& a, const auto& b) { return a.second < b.second; };
    loser = std::ranges::max_element(counts, by_count)->first;
  }
  const Connection* victim = nullptr;
  const auto rank = [](const Connection& c) { return std::pair(c.state, c.id); };
  for (const Connection& connection : connections) {
    if (connection.peer != loser) continue;
    if (victim == nullptr || rank(connection) < rank(*victim)) victim = &connection;
  }
  return victim == nullptr ? std::nullopt : std::optional(victim->id);
}

std::string peer_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &address, sizeof(v4));
    return {reinterpret_cast<const char*>(&v4.sin_addr), sizeof(v4.sin_addr)};
  }
  if (address.ss_family != AF_INET6) return "?";
  sockaddr_in6 v6;
  std::memcpy(&v6, &address, sizeof(v6));
  const char* bytes = reinterpret_cast<const char*>(v6.sin6_addr.s6_addr);
  constexpr std::size_t kMappedPrefix = 12, kNetwork = 8;
  // An IPv4 peer of a socket that serves both families.
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) return {bytes + kMappedPrefix, sizeof(in_addr)};
  return {bytes, kNetwork};
}

}  // namespace oomw
