// SPDX-License-Identifier: Apache-2.0
#include "captures/endpoint_finder.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "captures/listener_table.h"
#include "process/target_process.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxTableBytes = 128u << 10;
constexpr std::size_t kMaxFds = 4096;
constexpr std::size_t kMaxPorts = 64;  // where all are asked for

bool is_among(const std::vector<std::uint16_t>& ports, std::uint16_t port) {
  return std::find(ports.begin(), ports.end(), port) != ports.end();
}

Result<std::vector<ListeningSocket>> read_listeners(int pid_dir) {
  std::vector<ListeningSocket> listeners;
  for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    const auto table = read_prefix_at(pid_dir, table_of(family), kMaxTableBytes);
    // A kernel without IPv6 has no tcp6.
    if (!table && family == IpFamily::kV6 && table.error().code == ErrorCode::kNotFound) continue;
    if (!table) return tl::make_unexpected(table.error());
    for (auto& listener : parse_listeners(*table, family)) listeners.push_back(std::move(listener));
  }
  return listeners;
}

std::optional<std::uint64_t> socket_inode_of(const std::string& link) {
  constexpr std::string_view kPrefix = "socket:[";
  if (!link.starts_with(kPrefix) || !link.ends_with(']')) return std::nullopt;
  return parse_u64(std::string_view(link).substr(kPrefix.size(), link.size() - kPrefix.size() - 1));
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

}  // namespace

Result<FdByInode> sockets_of(int pid_dir) {
  ASSIGN_OR_RETURN(UniqueFd fd, open_process_file(pid_dir, ProcessFile::kFd));
  const std::unique_ptr<DIR, CloseDirectory> directory(::fdopendir(fd.get()));
  if (!directory) return fail_errno(errno, "fd");
  const int directory_fd = fd.release();  // closed with `directory`
  FdByInode sockets;
  std::size_t seen = 0;
  while (const dirent* entry = ::readdir(directory.get())) {
    const auto number = parse_u64(entry->d_name);
    if (!number) continue;  // "." and ".."
    if (++seen > kMaxFds) break;
    const auto link = read_link_at(directory_fd, entry->d_name);
    if (!link) continue;  // closed meanwhile
    if (const auto inode = socket_inode_of(*link)) sockets.try_emplace(*inode, static_cast<int>(*number));
  }
  return sockets;
}

namespace {

bool is_safe(const ListeningSocket& ours, const std::string& address, const std::vector<ListeningSocket>& listeners,
             const FdByInode& sockets) {
  return std::none_of(listeners.begin(), listeners.end(), [&](const ListeningSocket& other) {
    return !sockets.contains(other.inode) && could_answer(other, ours, address);
  });
}

Result<std::vector<PprofEndpoint>> endpoints_on(const std::vector<std::uint16_t>& ports, const TargetProcess& target,
                                                const std::vector<ListeningSocket>& listeners,
                                                const FdByInode& sockets) {
  std::vector<PprofEndpoint> endpoints;
  struct stat ns {};
  if (::fstatat(target.dir_fd(), to_string(ProcessFile::kNetNs).data(), &ns, 0) != 0)
    return fail_errno(errno, "its network namespace");
  for (const std::uint16_t port : ports) {
    for (const auto& listener : listeners) {
      const auto held = sockets.find(listener.inode);
      if (listener.port != port || held == sockets.end()) continue;
      for (const auto& address : connect_addresses(listener)) {
        if (!is_safe(listener, address, listeners, sockets)) continue;
        endpoints.push_back({address, port, ns.st_ino, held->second, listener.inode});
      }
    }
  }
  return endpoints;
}

}  // namespace

Result<std::vector<PprofEndpoint>> find_endpoints(const TargetProcess& target,
                                                  const std::vector<std::uint16_t>& ports) {
  ASSIGN_OR_RETURN(auto listeners, read_listeners(target.dir_fd()));
  std::erase_if(listeners, [&](const ListeningSocket& listener) { return !is_among(ports, listener.port); });
  if (listeners.empty()) return std::vector<PprofEndpoint>{};
  ASSIGN_OR_RETURN(const FdByInode sockets, sockets_of(target.dir_fd()));
  return endpoints_on(ports, target, listeners, sockets);
}

Result<std::vector<PprofEndpoint>> find_all_endpoints(const TargetProcess& target, std::vector<std::uint16_t> first) {
  ASSIGN_OR_RETURN(const auto listeners, read_listeners(target.dir_fd()));
  ASSIGN_OR_RETURN(const FdByInode sockets, sockets_of(target.dir_fd()));
  std::set<std::pair<bool, std::uint16_t>> others;  // reached from elsewhere, port
  for (const ListeningSocket& listener : listeners) {
    const bool is_local = listener.address == "::1" || listener.address.starts_with("127.");
    if (sockets.contains(listener.inode) && !is_among(first, listener.port)) others.emplace(!is_local, listener.port);
  }
  for (const auto& [is_remote, port] : others) {
    if (first.size() < kMaxPorts && !is_among(first, port)) first.push_back(port);
  }
  return endpoints_on(first, target, listeners, sockets);
}

}  // namespace oomw
