// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"
#include "web/listen_address.h"

namespace oomw {

// A TCP socket that listens without blocking. Without SO_REUSEPORT: with it, a second daemon on the same port would
// start without an error and take half of the scrapes. "::" serves IPv4 too.
struct Listener {
  UniqueFd fd;
  std::uint16_t port = 0;  // the chosen one where port 0 was asked for

  // kUnavailable: the address is in use.
  [[nodiscard]] static Result<Listener> open(const ListenAddress& address);
  // One that another process opened.
  [[nodiscard]] static Result<Listener> adopt(UniqueFd fd);
};

}  // namespace oomw
