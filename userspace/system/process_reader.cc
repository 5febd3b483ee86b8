// SPDX-License-Identifier: Apache-2.0
#include "system/process_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/files.h"
#include "base/proc_stat.h"
#include "base/text.h"
#include "base/victim_marks.h"
#include "process/target_process.h"
#include "system/go_environment.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxStatusBytes = 4'096;
constexpr std::size_t kMaxCgroupBytes = 64'000;  // v1: one line per hierarchy, each up to PATH_MAX
constexpr std::size_t kMaxStatmBytes = 256;
constexpr std::uint64_t kMostPages = std::uint64_t{1} << 48;
constexpr std::size_t kMaxCommBytes = 64;  // the kernel's limit is 15; kernel threads' is 63
// A process may have 2 MiB of each: 65,536 processes that are remembered with 8 KiB were half a GiB.
constexpr std::size_t kMaxCmdlineBytes = 256;
constexpr std::size_t kMaxExeBytes = 512;
constexpr std::size_t kMaxEnvironmentBytes =
    65'536;  // the variables that Kubernetes sets for 500 services; anything behind them is not read
constexpr std::uint64_t kKernelThread = 0x0020'0000;  // PF_KTHREAD
constexpr std::uint64_t kExiting = 0x4;               // PF_EXITING

// Each argument ends with NUL; a process that rewrote its title may leave many NULs at the end.
std::string cmdline_text(std::string bytes) {
  const bool is_cut = bytes.size() > kMaxCmdlineBytes;
  if (is_cut) bytes.resize(kMaxCmdlineBytes - 4);
  while (!bytes.empty() && bytes.back() == '\0') bytes.pop_back();
  std::replace(bytes.begin(), bytes.end(), '\0', ' ');
  if (is_cut) bytes += " ...";
  return bytes;
}

// The file's name matters more than where it lies.
std::string exe_text(const std::string& path) {
  if (path.size() <= kMaxExeBytes) return path;
  return "..." + path.substr(path.size() - (kMaxExeBytes - 3));
}

std::optional<std::int32_t> read_score(int dir_fd) {
  const auto text = read_file_at(dir_fd, "oom_score_adj", kMaxCommBytes);
  if (!text.has_value()) return std::nullopt;
  const std::string_view digits = trim(*text);
  const bool is_negative = digits.starts_with('-');
  const auto value = parse_u64(is_negative ? digits.substr(1) : digits);
  if (!value || *value > 1000) return std::nullopt;
  return is_negative ? -static_cast<std::int32_t>(*value) : static_cast<std::int32_t>(*value);
}

Result<UniqueFd> open_process(const std::string& proc_root, std::int32_t pid) {
  return open_at(AT_FDCWD, proc_root + "/" + std::to_string(pid), O_RDONLY | O_DIRECTORY);
}

// Files of /proc/PID whose reading holds the memory of the process for a moment.
Result<std::string> read_holding(int dir_fd, std::int32_t pid, const char* name, std::size_t max) {
  RETURN_IF_ERROR(may_hold_memory_of(pid));
  return read_prefix_at(dir_fd, name, max);
}

Result<std::uint64_t> start_ticks_in(std::string_view stat_text) {
  if (const auto ticks = ProcStat(stat_text).start_ticks()) return *ticks;
  return fail(ErrorCode::kInvalid, "stat: no start time");
}

// The first number behind `key`, which ends with ":\t".
Result<std::uint64_t> number_of_status(std::string_view status, std::string_view key) {
  for (const std::string_view line : split(status, '\n')) {
    if (!line.starts_with(key)) continue;
    if (const auto number = parse_u64(split(line.substr(key.size()), '\t').front())) return *number;
  }
  return fail(ErrorCode::kInvalid, "status: no " + std::string(key));
}

// The owner of /proc/PID is the effective uid, or root for processes that are not dumpable: the
// real uid (first of the Uid line) is the one in the kernel's kill record.
Result<> read_status(int dir_fd, ProcessSeen& seen) {
  ASSIGN_OR_RETURN(const std::string status, read_holding(dir_fd, seen.process.pid, "status", kMaxStatusBytes));
  ASSIGN_OR_RETURN(const std::uint64_t uid, number_of_status(status, "Uid:\t"));
  seen.uid = static_cast<std::uint32_t>(uid);
  if (const auto inside = innermost_pid_of(status)) seen.is_init = *inside == 1;
  return {};
}

// exe may be missing (a zombie, or a process that we may not inspect) and then stays empty; a pid that is gone fails
// at the directory or stat.
Result<ProcessSeen> read_plain_files(const UniqueFd& dir, std::int32_t pid, MonotonicTime now) {
  ASSIGN_OR_RETURN(const std::string stat, read_holding(dir.get(), pid, "stat", ProcStat::kMaxBytes));
  if ((ProcStat(stat).flags().value_or(0) & kKernelThread) != 0) {
    return fail(ErrorCode::kUnsupported, "a kernel thread");
  }
  ProcessSeen seen;
  seen.time = now;
  seen.process.pid = pid;
  ASSIGN_OR_RETURN(seen.process.start_ticks, start_ticks_in(stat));
  seen.comm = ProcStat(stat).comm().substr(0, kMaxCommBytes);
  seen.exe = exe_text(link_of_process(dir.get(), ProcessFile::kExe).value_or(""));
  RETURN_IF_ERROR(read_status(dir.get(), seen));
  seen.oom_score_adj = read_score(dir.get());
  return seen;
}

}  // namespace

Result<ProcessKey> ProcessReader::key_of(std::int32_t pid) const {
  RETURN_IF_ERROR(may_hold_memory_of(pid));
  ASSIGN_OR_RETURN(const std::string stat,
                   read_file(proc_root_ + "/" + std::to_string(pid) + "/stat", ProcStat::kMaxBytes));
  ASSIGN_OR_RETURN(const std::uint64_t ticks, start_ticks_in(stat));
  return ProcessKey{pid, ticks};
}

// /proc/TID exists for every thread, though no listing shows it.
Result<std::int32_t> ProcessReader::group_of(std::int32_t thread) const {
  ASSIGN_OR_RETURN(const UniqueFd dir, open_process(proc_root_, thread));
  ASSIGN_OR_RETURN(const std::string status, read_prefix_at(dir.get(), "status", kMaxStatusBytes));
  ASSIGN_OR_RETURN(const std::uint64_t group, number_of_status(status, "Tgid:\t"));
  return static_cast<std::int32_t>(group);
}

Result<ProcessSeen> ProcessReader::read(std::int32_t pid, MonotonicTime now) const {
  ASSIGN_OR_RETURN(const UniqueFd dir, open_process(proc_root_, pid));
  return read_plain_files(dir, pid, now);
}

Result<ProcessSeen> ProcessReader::read_with_arguments(std::int32_t pid, MonotonicTime now) const {
  ASSIGN_OR_RETURN(const UniqueFd dir, open_process(proc_root_, pid));
  ASSIGN_OR_RETURN(ProcessSeen seen, read_plain_files(dir, pid, now));
  seen.cmdline =
      cmdline_text(read_process_file(dir.get(), pid, ProcessFile::kCmdline, kMaxCmdlineBytes + 1).value_or(""));
  seen.go = go_config_of(read_process_file(dir.get(), pid, ProcessFile::kEnviron, kMaxEnvironmentBytes).value_or(""));
  return seen;
}

Result<MappedMemory> ProcessReader::memory_of(ProcessKey process) const {
  static const auto kPageBytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  ASSIGN_OR_RETURN(const UniqueFd dir, open_process(proc_root_, process.pid));
  ASSIGN_OR_RETURN(const std::string stat, read_holding(dir.get(), process.pid, "stat", ProcStat::kMaxBytes));
  ASSIGN_OR_RETURN(const std::uint64_t ticks, start_ticks_in(stat));
  if (process.start_ticks != 0 && ticks != process.start_ticks) return fail(ErrorCode::kNotFound, "another process");
  ASSIGN_OR_RETURN(const std::string statm, read_holding(dir.get(), process.pid, "statm", kMaxStatmBytes));
  const std::vector<std::string_view> pages = split(trim(statm), ' ');
  const auto size = parse_u64(pages.front());
  const auto resident = pages.size() > 1 ? parse_u64(pages[1]) : std::nullopt;
  if (!size || !resident || *size > kMostPages || *resident > kMostPages) {
    return fail(ErrorCode::kInvalid, "statm: not the numbers of pages");
  }
  return MappedMemory{*size * kPageBytes, *resident * kPageBytes};
}

// v1 shows "/" for an exiting process, wherever it was charged: this means unknown, not the root.
Result<std::string> ProcessReader::memory_cgroup_path(std::int32_t pid, const CgroupFs& cgroups) const {
  const std::string directory = proc_root_ + "/" + std::to_string(pid);
  const std::string file = directory + "/cgroup";
  ASSIGN_OR_RETURN(const std::string text, read_file(file, kMaxCgroupBytes));
  auto path = cgroups.memory_path_of(text);
  if (!path) return fail(ErrorCode::kUnsupported, file + ": no memory cgroup below our root");
  if (*path == "/" && cgroups.version() == CgroupVersion::kV1) {
    RETURN_IF_ERROR(may_hold_memory_of(pid));
    ASSIGN_OR_RETURN(const std::string stat, read_file(directory + "/stat", ProcStat::kMaxBytes));
    const std::uint64_t flags = ProcStat(stat).flags().value_or(kExiting);
    if ((flags & kExiting) != 0) return fail(ErrorCode::kNotFound, file + ": exiting");
  }
  return cgroups.charged_path_of(std::move(*path));
}

std::vector<std::int32_t> ProcessReader::list(std::size_t max) const {
  constexpr std::size_t kMaxEntries = 100'000;
  std::vector<std::int32_t> pids;
  const auto names = list_directory(proc_root_, kMaxEntries);
  if (!names.has_value()) return pids;
  for (const std::string& name : *names) {
    const auto pid = parse_u64(name);
    if (!pid || *pid == 0 || *pid > INT32_MAX) continue;
    if (pids.size() >= max) break;
    pids.push_back(static_cast<std::int32_t>(*pid));
  }
  return pids;
}

}  // namespace oomw
