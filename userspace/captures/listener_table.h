// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace oomw {

enum class IpFamily { kV4, kV6 };

// One LISTEN row of /proc/PID/net/tcp or tcp6.
struct ListeningSocket {
  std::string address;  // numeric; a v4-mapped v6 address as v4
  bool is_wildcard = false;
  IpFamily family = IpFamily::kV4;
  std::uint16_t port = 0;
  std::uint64_t inode = 0;
};

// The kernel's numbers of those states that anyone here asks for.
enum class TcpState : std::uint8_t { kOther = 0, kEstablished = 1, kSynSent = 2, kListen = 10 };

// Any row of the same files.
struct TcpSocket {
  TcpState state = TcpState::kOther;
  ListeningSocket local;
  std::string peer_address;  // numeric, as ListeningSocket::address
  std::uint16_t peer_port = 0;
  std::uint64_t unacknowledged_bytes = 0;  // written and not acknowledged, sent or not
  std::uint64_t retransmits = 0;           // of what is sent now, its request to connect included
  bool is_refused_room = false;            // its peer had no room, was asked again and had none still
};
// Calls `visit` for each row in turn; malformed rows are skipped.
void for_each_socket(std::string_view table, IpFamily family, const std::function<void(const TcpSocket&)>& visit);

// Below /proc/PID. A kernel without IPv6 has only the first.
[[nodiscard]] constexpr const char* table_of(IpFamily family) {
  return family == IpFamily::kV4 ? "net/tcp" : "net/tcp6";
}

// Rows of other states and malformed rows are skipped; at most kMaxListeners.
inline constexpr std::size_t kMaxListeners = 4096;
[[nodiscard]] std::vector<ListeningSocket> parse_listeners(std::string_view table, IpFamily family);

// Where to connect to reach a listener: its own address; for a wildcard the loopback addresses it
// answers on. [::] is dual-stack by default, and a container without IPv6 on lo has no ::1 though
// Go listens on [::] there: hence 127.0.0.1 first, then ::1.
[[nodiscard]] std::vector<std::string> connect_addresses(const ListeningSocket& listener);

// Whether `other` could take a connection to ours at `address` (SO_REUSEPORT, or its own socket on that very address).
// The more specific of two binds wins in the kernel.
[[nodiscard]] bool could_answer(const ListeningSocket& other, const ListeningSocket& ours, const std::string& address);

}  // namespace oomw
