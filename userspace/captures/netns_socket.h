// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"

namespace oomw {

// A process's network namespace, held open only while it is used: an open fd keeps a dead container's namespace, with
// its interfaces, alive.
struct NetworkNamespace {
  UniqueFd fd;
  std::uint64_t inode = 0;
  bool is_ours = false;  // the calling thread's own
};

// pid_dir_fd is an open /proc/PID.
[[nodiscard]] Result<NetworkNamespace> open_network_namespace(int pid_dir_fd);

// A socket that belongs to `target`: the thread enters the namespace, makes it and comes back (0.02 ms); the socket
// stays there for life, whichever thread uses it. Aborts if the way back fails.
[[nodiscard]] Result<UniqueFd> make_socket_in(const NetworkNamespace& target, int domain, int type, int protocol);

}  // namespace oomw
