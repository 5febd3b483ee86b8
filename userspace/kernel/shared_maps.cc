// SPDX-License-Identifier: Apache-2.0
#include "kernel/shared_maps.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include <bpf/libbpf.h>

namespace oomw {

UniqueFd copy_fd(int fd) { return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

SharedMaps::SharedMaps(std::map<std::string, std::uint32_t> entries) : entries_(std::move(entries)) {}

Result<> SharedMaps::prepare(bpf_object& object) const {
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, &object) {
    if (bpf_map__is_internal(map)) continue;
    std::string name = bpf_map__name(map);
    int error = 0;
    if (int existing = fd(name); existing >= 0) {
      error = bpf_map__reuse_fd(map, existing);
    } else if (auto entry = entries_.find(name); entry != entries_.end()) {
      error = bpf_map__set_max_entries(map, entry->second);
    }
    if (error != 0) return fail_errno(-error, "map " + name);
  }
  return {};
}

Result<> SharedMaps::adopt(bpf_object& object) {
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, &object) {
    std::string name = bpf_map__name(map);
    if (bpf_map__is_internal(map) || fd(name) >= 0) continue;
    UniqueFd copy = copy_fd(bpf_map__fd(map));
    if (!copy.is_valid()) return fail_errno(errno, "map " + name);
    fds_.emplace(std::move(name), std::move(copy));
  }
  return {};
}

int SharedMaps::fd(const std::string& name) const {
  auto found = fds_.find(name);
  return found == fds_.end() ? -1 : found->second.get();
}

}  // namespace oomw
