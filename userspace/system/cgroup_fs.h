// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "events/event.h"

namespace oomw {

enum class CgroupVersion { kV1, kV2 };

// The memory controller's hierarchy: /sys/fs/cgroup (v2) or /sys/fs/cgroup/memory (v1, also on
// hybrid hosts where v2 is mounted beside it without the controller). `mount_root` replaces
// /sys/fs/cgroup for tests and for containers with the host's tree mounted elsewhere.
// Stateless after probe(); any thread. A vanished cgroup is kNotFound, never a warning; one where
// the controller is not switched on (v2) is kUnsupported.
class CgroupFs {
 public:
  static constexpr std::size_t kMaxCgroups = 20'000;

  [[nodiscard]] static Result<CgroupFs> probe(const std::string& mount_root = "/sys/fs/cgroup");
  [[nodiscard]] CgroupVersion version() const { return version_; }
  [[nodiscard]] const std::string& root() const { return root_; }  // of the memory hierarchy

  // st_ino of the directory. path: from the hierarchy's root, "/" = root.
  [[nodiscard]] Result<CgroupId> id_of(const std::string& path) const;
  struct Entry {
    CgroupId id;
    CgroupId parent;
    std::string path;
  };
  // Every memory cgroup, parents before children, at most kMaxCgroups (then kLimit via `cut`).
  [[nodiscard]] Result<std::vector<Entry>> walk(bool* cut = nullptr) const;
  // The path of the child `id` of the cgroup at `parent_path`: for paths cut short in an event.
  [[nodiscard]] Result<std::string> find_child(const std::string& parent_path, CgroupId id) const;
  // Usage, limit, non-reclaimable, kernel_oom_kills; detailed also fills memory_stat. `expected`
  // guards against a path recycled by another cgroup: kNotFound if the inode differs. The time is the end
  // of the reading: on a starved node that may be after a kill, and the values then show what was left.
  [[nodiscard]] Result<MemorySampled> sample(const std::string& path, CgroupId expected, const Clock& clock,
                                             bool detailed) const;
  [[nodiscard]] Result<std::vector<std::int32_t>> processes(const std::string& path, std::size_t max) const;
  // Memory cgroup path from the text of /proc/PID/cgroup ("4:memory:/a" or "0::/a").
  [[nodiscard]] std::optional<std::string> memory_path_of(std::string_view proc_cgroup_text) const {
    return memory_path_in(proc_cgroup_text, version_);
  }
  // The same, pure and fuzzed.
  [[nodiscard]] static std::optional<std::string> memory_path_in(std::string_view proc_cgroup_text,
                                                                 CgroupVersion version);
  // v2: the nearest cgroup at or above `path` where the controller is on. The memory of a process in
  // `path` is charged to it. v1: `path`.
  [[nodiscard]] std::string charged_path_of(std::string path) const;
  // The directory itself, O_DIRECTORY. Paths longer than PATH_MAX work.
  [[nodiscard]] Result<UniqueFd> open(const std::string& path) const;
  // kNotFound if another cgroup has the path by now; an empty `expected` accepts any.
  [[nodiscard]] Result<UniqueFd> open(const std::string& path, CgroupId expected) const;

 private:
  CgroupFs(CgroupVersion version, std::string root) : version_(version), root_(std::move(root)) {}
  CgroupVersion version_;
  std::string root_;
};

}  // namespace oomw
