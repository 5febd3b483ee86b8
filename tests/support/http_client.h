// SPDX-License-Identifier: Apache-2.0
// Requests to a server on loopback, byte by byte where a test wants that.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace oomw {

struct HttpAnswer {
  int status = 0;  // 0: no answer
  std::string head, body;
};

inline UniqueFd http_connect(std::uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)) != 0) fd.reset();
  return fd;
}

inline void http_send(const UniqueFd& fd, std::string_view bytes) {
  [[maybe_unused]] const ssize_t n = ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

// All that comes until the server closes.
inline std::string http_read(const UniqueFd& fd) {
  std::string answer;
  char buffer[4096];
  ssize_t n = 0;
  while ((n = ::recv(fd.get(), buffer, sizeof(buffer), 0)) > 0) answer.append(buffer, static_cast<std::size_t>(n));
  return answer;
}

inline std::string http_raw(std::uint16_t port, std::string_view bytes) {
  const UniqueFd fd = http_connect(port);
  http_send(fd, bytes);
  return http_read(fd);
}

// headers: whole lines, each with its "\r\n".
inline HttpAnswer http_get(std::uint16_t port, const std::string& path, const std::string& headers = "") {
  const std::string text = http_raw(port, "GET " + path + " HTTP/1.1\r\nHost: test\r\n" + headers + "\r\n");
  const std::size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos || text.size() < 12) return {};
  return {std::atoi(text.c_str() + 9), text.substr(0, end + 2), text.substr(end + 4)};
}

}  // namespace oomw
