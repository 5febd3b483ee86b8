// SPDX-License-Identifier: Apache-2.0
#include "process/target_process.h"

#include <fcntl.h>

#include <optional>

#include <fmt/format.h>

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

Result<UniqueFd> open_process_file(int directory, ProcessFile file) {
  const bool is_directory = file == ProcessFile::kRoot || file == ProcessFile::kFd;
  const int access = file == ProcessFile::kRoot ? O_PATH : O_RDONLY;
  return open_at(directory, std::string(to_string(file)), access | (is_directory ? O_DIRECTORY : 0));
}

Result<UniqueFd> open_mapped_file(int directory, std::uint64_t begin, std::uint64_t end) {
  return open_at(directory, fmt::format("map_files/{:x}-{:x}", begin, end), O_RDONLY);
}

Result<std::string> read_process_file(int directory, int pid, ProcessFile file, std::size_t max) {
  RETURN_IF_ERROR(may_hold_memory_of(pid));
  return read_prefix_at(directory, std::string(to_string(file)), max);
}

Result<std::string> link_of_process(int directory, ProcessFile file) {
  return read_link_at(directory, std::string(to_string(file)));
}

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
