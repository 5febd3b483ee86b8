// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace oomw {

// What a connection is doing, by what is lost if it is closed now: least first.
enum class ConnectionState { kLingering, kReadingHead, kAnswering, kQueued };

// Which connection has to go so that another may come. Pure: the server does the closing.
//   - a peer is an IPv4 address, or an IPv6 /64, which is what one host is commonly given;
//   - a peer over kMaxPerPeer loses one of its own;
//   - at kMaxConnections the peer with the most loses one;
//   - of a peer's connections the one goes that loses least, and of those the oldest: the newest is the one whose
//     request is still to come, as a kubelet's probe is that shares the address of a pod on the host network.
class PeerLimits {
 public:
  static constexpr std::size_t kMaxPerPeer = 8;
  static constexpr std::size_t kMaxConnections = 64;

  struct Connection {
    std::uint64_t id = 0;  // rises with age
    std::string peer;
    ConnectionState state = ConnectionState::kReadingHead;
  };

  // The connection to close before one of `peer` is accepted; nullopt: there is room.
  [[nodiscard]] static std::optional<std::uint64_t> victim(const std::vector<Connection>& connections,
                                                           const std::string& peer);
};

// The bytes that name a peer.
[[nodiscard]] std::string peer_of(const sockaddr_storage& address);

}  // namespace oomw
