// SPDX-License-Identifier: Apache-2.0
#include "process/target_process.h"

#include <fcntl.h>

#include <optional>

#include "base/files.h"
#include "base/proc_stat.h"
#include "base/victim_marks.h"

namespace oomw {
namespace {

std::optional<std::uint64_t> living_start_ticks(int directory, std::int32_t pid) {
  if (VictimMarks::has(pid)) return std::nullopt;
  const auto stat = read_file_at(directory, "stat", ProcStat::kMaxBytes);
  if (!stat || ProcStat(*stat).is_dead()) return std::nullopt;
  return ProcStat(*stat).start_ticks();
}

}  // namespace

Result<TargetProcess> TargetProcess::open(const std::string& proc_root, ProcessKey key) {
  const std::string name = std::to_string(key.pid);
  ASSIGN_OR_RETURN(UniqueFd directory, open_directory(proc_root + "/" + name));
  const auto start_ticks = living_start_ticks(directory.get(), key.pid);
  if (!start_ticks) return fail(ErrorCode::kNotFound, "process " + name + " is gone");
  if (key.start_ticks != 0 && key.start_ticks != *start_ticks) {
    return fail(ErrorCode::kNotFound, "pid " + name + " is another process by now");
  }
  return TargetProcess(std::move(directory), {key.pid, *start_ticks});
}

bool TargetProcess::is_alive() const { return living_start_ticks(dir_fd(), key_.pid) == key_.start_ticks; }

bool TargetProcess::holds_socket(int fd, std::uint64_t inode) const {
  const auto link = read_link_at(dir_fd(), "fd/" + std::to_string(fd));
  return link && *link == "socket:[" + std::to_string(inode) + "]";
}

}  // namespace oomw
