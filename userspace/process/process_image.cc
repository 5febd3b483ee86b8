// SPDX-License-Identifier: Apache-2.0
#include "process/process_image.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "base/proc_stat.h"
#include "base/victim_marks.h"

namespace oomw {

namespace {

constexpr std::size_t kMaxAuxvBytes = 4096;

FileIdentity identity_of(const struct stat& st) {
  return {st.st_dev, st.st_ino, static_cast<std::uint64_t>(st.st_size),
          st.st_mtim.tv_sec * std::int64_t{1'000'000'000} + st.st_mtim.tv_nsec};
}

Result<std::uint64_t> start_time_of(const std::string& proc) {
  ASSIGN_OR_RETURN(const std::string stat, read_file(proc + "stat", ProcStat::kMaxBytes));
  if (const auto ticks = ProcStat(stat).start_ticks()) return *ticks;
  return fail(ErrorCode::kInvalid, proc + "stat: start time");
}

Result<std::uint64_t> entry_of(const std::string& proc) {
  ASSIGN_OR_RETURN(const std::string auxv, read_file(proc + "auxv", kMaxAuxvBytes));
  for (std::size_t at = 0; at + sizeof(Elf64_auxv_t) <= auxv.size(); at += sizeof(Elf64_auxv_t)) {
    Elf64_auxv_t entry;
    std::memcpy(&entry, auxv.data() + at, sizeof(entry));
    if (entry.a_type == AT_ENTRY) return entry.a_un.a_val;
  }
  return fail(ErrorCode::kNotFound, proc + "auxv: no entry point");
}

}  // namespace

Result<FileIdentity> identify_file(int fd) {
  struct stat st;
  if (::fstat(fd, &st) != 0) return fail_errno(errno, "fstat of an executable");
  return identity_of(st);
}

Result<ProcessImage> read_process_image(int pid, const std::string& proc_root) {
  const std::string proc = proc_root + "/" + std::to_string(pid) + "/";
  ProcessImage image;
  image.proc_root = proc_root;
  image.pid = pid;
  struct stat st;
  if (::stat((proc + "exe").c_str(), &st) != 0) return fail_errno(errno, "stat of " + proc + "exe");
  image.exe = identity_of(st);
  RETURN_IF_ERROR(may_hold_memory_of(pid));
  ASSIGN_OR_RETURN(image.start_time_ticks, start_time_of(proc));
  RETURN_IF_ERROR(may_hold_memory_of(pid));
  ASSIGN_OR_RETURN(image.entry, entry_of(proc));
  return image;
}

}  // namespace oomw
