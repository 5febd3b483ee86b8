// SPDX-License-Identifier: Apache-2.0
#include "web/listen_address.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <limits>

#include "base/text.h"
#include "base/unique_fd.h"

namespace oomw {
namespace {

// ipv6.disable=1 on the kernel's command line takes the whole family away.
bool has_ipv6() { return UniqueFd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)).is_valid(); }

bool is_numeric(int family, const std::string& host) {
  in6_addr address;
  return inet_pton(family, host.c_str(), &address) == 1;
}

tl::unexpected<Error> refuse(std::string_view text, std::string_view why) {
  return fail(ErrorCode::kInvalid, "listen address \"" + printable(text) + "\": " + std::string(why));
}

}  // namespace

Result<ListenAddress> parse_listen_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return refuse(text, "no port");
  const auto port = parse_u64(text.substr(colon + 1));
  if (!port || *port > std::numeric_limits<std::uint16_t>::max()) return refuse(text, "port is not 0 to 65535");
  ListenAddress address{std::string(text.substr(0, colon)), static_cast<std::uint16_t>(*port)};
  std::string& host = address.host;
  if (host.empty()) host = has_ipv6() ? "::" : "0.0.0.0";
  if (host == "localhost") host = "127.0.0.1";
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    if (!is_numeric(AF_INET6, host)) return refuse(text, "not an IPv6 address in brackets");
  } else if (!is_numeric(AF_INET, host) && host != "::") {
    return refuse(text, "not a numeric address (IPv6 goes in brackets)");
  }
  return address;
}

}  // namespace oomw
