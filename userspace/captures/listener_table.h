// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace oomw {

enum class IpFamily { kV4, kV6 };

// One LISTEN row of /proc/PID/net/tcp or tcp6.
struct Listener {
  std::string address;  // numeric; a v4-mapped v6 address as v4
  bool is_wildcard = false;
  IpFamily family = IpFamily::kV4;
  std::uint16_t port = 0;
  std::uint64_t inode = 0;
};

// Rows of other states and malformed rows are skipped; at most kMaxListeners.
inline constexpr std::size_t kMaxListeners = 4096;
[[nodiscard]] std::vector<Listener> parse_listeners(std::string_view table, IpFamily family);

// Where to connect to reach a listener: its own address; for a wildcard the loopback addresses it
// answers on. [::] is dual-stack by default, and a container without IPv6 on lo has no ::1 though
// Go listens on [::] there: hence 127.0.0.1 first, then ::1.
[[nodiscard]] std::vector<std::string> connect_addresses(const Listener& listener);

// Whether `other` could take a connection to ours at `address` (SO_REUSEPORT, or its own socket on that very address).
// The more specific of two binds wins in the kernel.
[[nodiscard]] bool could_answer(const Listener& other, const Listener& ours, const std::string& address);

}  // namespace oomw
