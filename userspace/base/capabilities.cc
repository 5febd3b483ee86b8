// SPDX-License-Identifier: Apache-2.0
#include "base/capabilities.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace oomw {

Capabilities own_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return Capabilities();
  return Capabilities(data[0].effective | std::uint64_t{data[1].effective} << 32);
}

}  // namespace oomw
