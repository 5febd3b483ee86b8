// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "base/unique_fd.h"

namespace oomw {

// Sends everything; false once the client has gone.
inline bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// Reads up to the blank line that ends a GET.
inline std::string read_request(int fd) {
  std::string request;
  char buffer[1024];
  while (request.find("\r\n\r\n") == std::string::npos) {
    const ssize_t n = ::recv(fd, buffer, sizeof(buffer), 0);
    if (n <= 0) break;
    request.append(buffer, static_cast<std::size_t>(n));
  }
  return request;
}

inline void wait_for_close(int fd) {
  char byte = 0;
  while (::recv(fd, &byte, 1, 0) > 0) {
  }
}

inline std::string response(std::string_view status, std::string_view body, std::string_view headers = "") {
  return "HTTP/1.1 " + std::string(status) + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         std::string(headers) + "\r\n" + std::string(body);
}

inline UniqueFd listen_on(const char* v4_address, std::uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, v4_address, &address.sin_addr);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return {};
  if (::listen(fd.get(), 16) != 0) return {};
  return fd;
}

// A socket on a port of the kernel's choice, served by one thread, one connection after another.
class LoopbackServer {
 public:
  using Behaviour = std::function<void(int client)>;

  explicit LoopbackServer(Behaviour behaviour, UniqueFd listener = listen_on("127.0.0.1", 0))
      : behaviour_(std::move(behaviour)), listener_(std::move(listener)), thread_([this] { serve(); }) {}
  ~LoopbackServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);  // accept returns
    thread_.join();
  }

  [[nodiscard]] std::uint16_t port() const {
    sockaddr_in6 address{};  // room for both families; the port is at the same place
    socklen_t size = sizeof(address);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin6_port);
  }
  [[nodiscard]] int connections() const { return connections_; }

 private:
  void serve() {
    for (;;) {
      const UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.is_valid()) return;
      ++connections_;
      behaviour_(client.get());
    }
  }

  Behaviour behaviour_;
  UniqueFd listener_;
  std::atomic<int> connections_ = 0;
  std::thread thread_;
};

}  // namespace oomw
