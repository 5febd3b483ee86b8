// SPDX-License-Identifier: Apache-2.0
// Finds the files that runtimes keep, and opens them with care. The directories belong to root, but a
// state dir may hold parts that a container can write (userdata, shm), so no link is followed.
#include "system/oci_bundle.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/files.h"
#include "base/text.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxFileBytes = 1u << 20;
constexpr std::size_t kMaxNamespaces = 64;

constexpr std::array<const char*, 5> kContainerdStateDirs = {"/run/containerd", "/run/k3s/containerd",
                                                             "/run/k0s/containerd", "/run/docker/containerd",
                                                             "/var/snap/microk8s/common/run/containerd"};
constexpr std::array<const char*, 2> kStorageDirs = {"/run/containers/storage", "/var/lib/containers/storage"};
constexpr const char* kDockerDir = "/var/lib/docker/containers";

// Docker's containers have bundles here too, but these do not contain their names.
constexpr std::string_view kDockerNamespace = "moby";

bool is_plain_component(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

// `path` as the host sees it: its absolute links start at host_root, not at our own root. Kernels
// and seccomp profiles without openat2 (before 5.6) get the plain open.
Result<UniqueFd> open_host_directory(const std::string& host_root, const std::string& path) {
  if (host_root.empty()) return open_directory(path);
  ASSIGN_OR_RETURN(const UniqueFd root, open_directory(host_root));
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  const std::string relative = path.substr(path.find_first_not_of('/'));
  const long fd = ::syscall(SYS_openat2, root.get(), relative.c_str(), &how, sizeof(how));
  if (fd >= 0) return UniqueFd(static_cast<int>(fd));
  if (errno != ENOSYS && errno != EPERM) return fail_errno(errno, "open " + host_root + path);
  return open_directory(host_root + path);
}

Result<std::string> read_regular(const UniqueFd& fd, const std::string& name) {
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return fail_errno(errno, "fstat " + name);
  if (!S_ISREG(info.st_mode)) return fail(ErrorCode::kInvalid, name + ": not a regular file");
  if (info.st_size > static_cast<off_t>(kMaxFileBytes)) return fail(ErrorCode::kLimit, name + ": longer than 1 MiB");
  return read_open_file(fd.get(), name, static_cast<std::size_t>(info.st_size));
}

// Component by component, following no link.
Result<std::string> read_below(const UniqueFd& directory, const std::vector<std::string>& components) {
  UniqueFd held;
  int at = directory.get();
  for (std::size_t i = 0; i < components.size(); ++i) {
    if (!is_plain_component(components[i])) return fail(ErrorCode::kInvalid, "not a file name");
    const bool is_last = i + 1 == components.size();
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | (is_last ? 0 : O_DIRECTORY);
    ASSIGN_OR_RETURN(UniqueFd next, open_at(at, components[i], flags));
    held = std::move(next);
    at = held.get();
  }
  return read_regular(held, components.back());
}

Result<ContainerIdentity> from_containerd_state(const UniqueFd& tasks, const std::string& tasks_path,
                                                const ContainerIdentity& from_path) {
  ASSIGN_OR_RETURN(const auto namespaces, list_directory(tasks_path, kMaxNamespaces));
  for (const std::string& name : namespaces) {
    if (name == kDockerNamespace) continue;
    const auto json = read_below(tasks, {name, from_path.id, "config.json"});
    if (!json.has_value()) continue;
    ContainerIdentity identity = from_path;
    RETURN_IF_ERROR(apply_oci_config(*json, identity));
    if (identity.runtime.empty()) identity.runtime = "containerd";
    return identity;
  }
  return fail(ErrorCode::kNotFound, "no containerd bundle");
}

Result<ContainerIdentity> from_containerd(const BundleConfig& config, const ContainerIdentity& from_path) {
  std::vector<std::string> state_dirs = config.extra_state_dirs;
  state_dirs.insert(state_dirs.end(), kContainerdStateDirs.begin(), kContainerdStateDirs.end());
  for (const std::string& state : state_dirs) {
    const auto tasks = open_host_directory(config.host_root, state + "/io.containerd.runtime.v2.task");
    if (!tasks.has_value()) continue;
    // Lists the directory that is already open, wherever its path leads by now.
    const std::string listed = "/proc/self/fd/" + std::to_string(tasks->get());
    if (auto identity = from_containerd_state(*tasks, listed, from_path); identity.has_value()) return identity;
  }
  return fail(ErrorCode::kNotFound, "no containerd bundle");
}

Result<ContainerIdentity> from_storage(const BundleConfig& config, const ContainerIdentity& from_path) {
  bool is_found = false;
  ContainerIdentity identity = from_path;
  for (const char* storage : kStorageDirs) {
    const auto dir = open_host_directory(config.host_root, std::string(storage) + "/overlay-containers");
    if (!dir.has_value()) continue;
    const auto bundle = read_below(*dir, {from_path.id, "userdata", "config.json"});
    if (bundle.has_value() && apply_oci_config(*bundle, identity).has_value()) is_found = true;
    if (identity.runtime == "cri-o" && is_found) break;
    const auto list = read_below(*dir, {"containers.json"});
    if (list.has_value() && apply_storage_list(*list, identity).has_value()) is_found = true;
  }
  if (!is_found) return fail(ErrorCode::kNotFound, "not in containers/storage");
  if (identity.runtime.empty()) identity.runtime = "podman";
  return identity;
}

Result<ContainerIdentity> from_docker(const BundleConfig& config, const ContainerIdentity& from_path) {
  ASSIGN_OR_RETURN(const UniqueFd dir, open_host_directory(config.host_root, kDockerDir));
  ASSIGN_OR_RETURN(const std::string json, read_below(dir, {from_path.id, "config.v2.json"}));
  ContainerIdentity identity = from_path;
  RETURN_IF_ERROR(apply_docker_config(json, identity));
  return identity;
}

}  // namespace

Result<ContainerIdentity> read_bundle(const BundleConfig& config, const ContainerIdentity& from_path) {
  using Reader = Result<ContainerIdentity> (*)(const BundleConfig&, const ContainerIdentity&);
  struct Source {
    std::string_view runtime;
    Reader read;
  };
  static constexpr std::array<Source, 4> kSources = {{
      {"containerd", from_containerd},
      {"cri-o", from_storage},
      {"docker", from_docker},
      {"podman", from_storage},
  }};
  if (!is_plain_component(from_path.id)) return fail(ErrorCode::kNotFound, "no container id");
  for (const Source& source : kSources) {
    // If the path names no runtime (cgroupfs driver: a bare id), all of them are tried.
    if (!from_path.runtime.empty() && from_path.runtime != source.runtime) continue;
    if (auto identity = source.read(config, from_path); identity.has_value()) return identity;
  }
  return fail(ErrorCode::kNotFound, "no runtime here knows container " + printable(from_path.id, 64));
}

}  // namespace oomw
