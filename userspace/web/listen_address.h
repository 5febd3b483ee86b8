// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace oomw {

struct ListenAddress {
  std::string host;  // numeric; "::" or "0.0.0.0" for all addresses
  std::uint16_t port = 0;
};

// "127.0.0.1:9435", "[::1]:9435", "localhost:9435" (IPv4) or ":9435" for all addresses: "::" where
// the kernel has IPv6, else "0.0.0.0". Names are not resolved. kInvalid: the message names the fault.
[[nodiscard]] Result<ListenAddress> parse_listen_address(std::string_view text);

}  // namespace oomw
