// SPDX-License-Identifier: Apache-2.0
#include "web/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace oomw {
namespace {

constexpr int kBacklog = 128;

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

SocketAddress socket_address(const ListenAddress& address) {
  SocketAddress result;
  sockaddr_in v4{};
  if (inet_pton(AF_INET, address.host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(address.port);
    std::memcpy(&result.bytes, &v4, sizeof(v4));
    result.size = sizeof(v4);
    return result;
  }
  sockaddr_in6 v6{};
  inet_pton(AF_INET6, address.host.c_str(), &v6.sin6_addr);  // parse_listen_address has checked it
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(address.port);
  std::memcpy(&result.bytes, &v6, sizeof(v6));
  result.size = sizeof(v6);
  return result;
}

std::uint16_t port_of(const sockaddr_storage& address) {
  sockaddr_in v4;  // the port lies at the same place in both families
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  std::memcpy(&v4, &address, sizeof(v4));
  return ntohs(v4.sin_port);
}

}  // namespace

Result<Listener> Listener::open(const ListenAddress& address) {
  const std::string what = "listening on " + address.host + " port " + std::to_string(address.port);
  const SocketAddress to = socket_address(address);
  Listener listener{UniqueFd(::socket(to.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), 0};
  const int fd = listener.fd.get();
  if (fd < 0) return fail_errno(errno, what);
  const int yes = 1, no = 0;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (to.bytes.ss_family == AF_INET6) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
  SocketAddress bound{{}, sizeof(sockaddr_storage)};
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&to.bytes), to.size) != 0 || ::listen(fd, kBacklog) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound.bytes), &bound.size) != 0) {
    return fail_errno(errno, what);
  }
  listener.port = port_of(bound.bytes);
  return listener;
}

Result<Listener> Listener::adopt(UniqueFd fd) {
  SocketAddress bound{{}, sizeof(sockaddr_storage)};
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound.bytes), &bound.size) != 0) {
    return fail_errno(errno, "the listening socket");
  }
  return Listener{std::move(fd), port_of(bound.bytes)};
}

}  // namespace oomw
