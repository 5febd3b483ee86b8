// SPDX-License-Identifier: Apache-2.0
#include "system/cgroup_fs.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>

#include "base/files.h"
#include "base/text.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxControllersBytes = 4096;

bool has_part(std::string_view text, char separator, std::string_view wanted) {
  const auto parts = split(text, separator);
  return std::ranges::find(parts, wanted) != parts.end();
}

bool has_memory_controller(const std::string& directory) {
  const auto text = read_file(directory + "/cgroup.controllers", kMaxControllersBytes);
  return text.has_value() && has_part(trim(*text), ' ', "memory");
}

bool is_v1_memory(const std::string& directory) {
  return ::access((directory + "/memory.usage_in_bytes").c_str(), F_OK) == 0 ||
         ::access((directory + "/memory.limit_in_bytes").c_str(), F_OK) == 0;
}

bool is_cgroup2_mount(const std::string& directory) {
  struct statfs info {};
  return ::statfs(directory.c_str(), &info) == 0 && info.f_type == CGROUP2_SUPER_MAGIC;
}

// ".." appears when the reader is in a cgroup namespace of its own: the path then does not start at
// the root that we read below. The kernel refuses ".." and '\n' in a cgroup's name.
bool leaves_root(std::string_view path) { return has_part(path, '/', ".."); }

}  // namespace

Result<CgroupFs> CgroupFs::probe(const std::string& mount_root) {
  if (has_memory_controller(mount_root)) return CgroupFs(CgroupVersion::kV2, mount_root);
  if (is_v1_memory(mount_root + "/memory")) return CgroupFs(CgroupVersion::kV1, mount_root + "/memory");
  if (has_memory_controller(mount_root + "/unified")) return CgroupFs(CgroupVersion::kV2, mount_root + "/unified");
  const std::string why = is_cgroup2_mount(mount_root)
                              ? "cgroup v2 without the memory controller (cgroup_disable=memory, or it is on v1)"
                              : "neither cgroup v2 nor a v1 memory hierarchy is mounted";
  return fail(ErrorCode::kUnsupported, mount_root + ": " + why);
}

// Opens in steps below PATH_MAX (4096): nested names of 255 bytes make longer paths, which a workload
// with a delegated cgroup could use to hide.
Result<UniqueFd> CgroupFs::open(const std::string& path) const {
  constexpr std::size_t kStep = 3'500;
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  if (root_.size() + path.size() < kStep) return open_at(AT_FDCWD, root_ + path, kFlags & ~O_NOFOLLOW);
  ASSIGN_OR_RETURN(UniqueFd fd, open_at(AT_FDCWD, root_, kFlags & ~O_NOFOLLOW));
  std::size_t start = path.find_first_not_of('/');
  while (start < path.size()) {
    std::size_t end = path.size();
    if (end - start > kStep) end = path.rfind('/', start + kStep);
    if (end == std::string::npos || end <= start) return fail(ErrorCode::kInvalid, "cgroup name too long");
    ASSIGN_OR_RETURN(fd, open_at(fd.get(), path.substr(start, end - start), kFlags));
    start = path.find_first_not_of('/', end);
  }
  return fd;
}

Result<UniqueFd> CgroupFs::open(const std::string& path, CgroupId expected) const {
  ASSIGN_OR_RETURN(UniqueFd fd, open(path));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return fail_errno(errno, "fstat " + path);
  if (expected && info.st_ino != expected.value) return fail(ErrorCode::kNotFound, "another cgroup has the path now");
  return fd;
}

Result<CgroupId> CgroupFs::id_of(const std::string& path) const {
  struct stat info {};
  const std::string full = root_ + path;
  if (::stat(full.c_str(), &info) == 0) return CgroupId{info.st_ino};
  if (errno != ENAMETOOLONG) return fail_errno(errno, "stat " + path);
  ASSIGN_OR_RETURN(const UniqueFd fd, open(path));
  if (::fstat(fd.get(), &info) != 0) return fail_errno(errno, "fstat " + path);
  return CgroupId{info.st_ino};
}

Result<std::vector<std::int32_t>> CgroupFs::processes(const std::string& path, std::size_t max) const {
  constexpr std::size_t kMaxPidLine = 11;  // "4194304\n", the largest pid_max is 2^22
  ASSIGN_OR_RETURN(const UniqueFd dir, open(path));
  ASSIGN_OR_RETURN(const std::string text, read_prefix_at(dir.get(), "cgroup.procs", max * kMaxPidLine));
  std::vector<std::int32_t> pids;
  for (const std::string_view line : split(text, '\n')) {
    const auto pid = parse_u64(line);
    // 0: a process that our pid namespace does not see.
    if (!pid || *pid == 0 || *pid > INT32_MAX) continue;
    if (pids.size() >= max) break;
    pids.push_back(static_cast<std::int32_t>(*pid));
  }
  return pids;
}

std::optional<std::string> CgroupFs::memory_path_in(std::string_view proc_cgroup_text, CgroupVersion version) {
  for (const std::string_view line : split(proc_cgroup_text, '\n')) {
    const std::size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    const bool is_ours = version == CgroupVersion::kV1 ? has_part(controllers, ',', "memory") : line.starts_with("0::");
    if (!is_ours) continue;
    if (!path.starts_with('/') || leaves_root(path)) return std::nullopt;
    return std::string(path);
  }
  return std::nullopt;
}

std::string CgroupFs::charged_path_of(std::string path) const {
  if (version_ == CgroupVersion::kV1) return path;
  while (path.size() > 1 && ::access((root_ + path + "/memory.current").c_str(), F_OK) != 0) {
    if (errno == ENAMETOOLONG) break;
    const std::size_t slash = path.rfind('/');
    path.resize(slash == 0 || slash == std::string::npos ? 1 : slash);
  }
  return path;
}

}  // namespace oomw
