// SPDX-License-Identifier: Apache-2.0
// The text of /proc/PID/net/tcp and tcp6.
#include <arpa/inet.h>

#include "base/result.h"
#include "captures/listener_table.h"
#include "fuzz/text_target.h"

namespace {

bool is_numeric(const std::string& address) {
  unsigned char bytes[16];
  return inet_pton(address.find(':') == std::string::npos ? AF_INET : AF_INET6, address.c_str(), bytes) == 1;
}

}  // namespace

void fuzz_text(std::string_view table) {
  for (const auto family : {oomw::IpFamily::kV4, oomw::IpFamily::kV6}) {
    const auto listeners = oomw::parse_listeners(table, family);
    OOMW_CHECK(listeners.size() <= oomw::kMaxListeners);
    for (const auto& listener : listeners) {
      OOMW_CHECK(listener.inode != 0 && is_numeric(listener.address));
      for (const auto& address : oomw::connect_addresses(listener)) {
        OOMW_CHECK(is_numeric(address) && oomw::could_answer(listener, listener, address));
      }
    }
  }
}
