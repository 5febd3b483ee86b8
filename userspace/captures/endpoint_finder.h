// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "process/target_process.h"

namespace oomw {

// A pprof listener proved to belong to a process: the listening socket's inode is among its fds.
struct PprofEndpoint {
  std::string address;  // numeric, the address to connect to: 127.0.0.1, ::1 or the bound address
  std::uint16_t port = 0;
  std::uint64_t netns_inode = 0;
  int fd = -1;  // the target's own number of the listening socket: one readlink proves it again
  std::uint64_t socket_inode = 0;
};

// Sockets of an open /proc/PID by inode, with one number of each: of its first 4096 fds. A listener is opened early, so
// its number is low.
using FdByInode = std::map<std::uint64_t, int>;
[[nodiscard]] Result<FdByInode> sockets_of(int pid_dir);

// The process's listeners on `ports`, in the order of `ports`; none = empty. Leaves out an address that another
// process's listener could answer. Costs 4-5 ms on a 24 GB machine, nearly all in the kernel, which walks its whole
// connection hash for each of the two tables: hence prepare(). Bounded: 128 KiB of a table (LISTEN rows come first) and
// the first 4096 fds.
[[nodiscard]] Result<std::vector<PprofEndpoint>> find_endpoints(const TargetProcess& target,
                                                                const std::vector<std::uint16_t>& ports);
// The same for all ports: `first` as above, then those that only this machine reaches, then the others, each by number;
// 64 ports.
[[nodiscard]] Result<std::vector<PprofEndpoint>> find_all_endpoints(const TargetProcess& target,
                                                                    std::vector<std::uint16_t> first);

}  // namespace oomw
