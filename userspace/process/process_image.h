// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace oomw {

// Which file an executable is, for as long as it exists: paths are reused, and so are inodes, but
// not together with size and time.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t mtime_ns = 0;
  friend auto operator<=>(const FileIdentity&, const FileIdentity&) = default;
};
[[nodiscard]] Result<FileIdentity> identify_file(int fd);

// One execution of one program by one process: a pid is reused, and exec replaces the program.
struct ProcessImage {
  std::string proc_root = "/proc";  // where it was read, with `pid` as numbered there: other mounts may differ
  int pid = 0;
  std::uint64_t start_time_ticks = 0;  // field 22 of /proc/PID/stat
  FileIdentity exe;
  std::uint64_t entry = 0;  // AT_ENTRY: where the kernel put the program's entry point
  friend bool operator==(const ProcessImage&, const ProcessImage&) = default;
};

// Reads PROC_ROOT/PID/{stat,exe,auxv}. kNotFound if the process is gone or a kernel thread.
[[nodiscard]] Result<ProcessImage> read_process_image(int pid, const std::string& proc_root = "/proc");

}  // namespace oomw
