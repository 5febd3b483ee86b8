// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/enum_names.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "events/ids.h"

namespace oomw {

// What lies below /proc/PID and is shaped by the process, or can stall whoever opens or reads it: a FUSE mount answers
// for its files, its mmap_lock for its memory. Opened here and in no other room (tests/unit/includes_test.cc); which
// thread may do that is the caller's care. `directory`: an open /proc/PID.
enum class ProcessFile { kMem, kPagemap, kMaps, kExe, kRoot, kFd, kMntNs, kNetNs, kCmdline, kEnviron };
template <>
inline constexpr auto kEnumNames<ProcessFile> = std::to_array<std::string_view>({"mem", "pagemap", "maps", "exe",
                                                                                 "root", "fd", "ns/mnt", "ns/net",
                                                                                 "cmdline", "environ"});
// For reading; directories as such.
[[nodiscard]] Result<UniqueFd> open_process_file(int directory, ProcessFile file);
// The mapped file itself, whatever its path names by now; addresses as maps has them.
[[nodiscard]] Result<UniqueFd> open_mapped_file(int directory, std::uint64_t begin, std::uint64_t end);
// Its first bytes. Reading holds the memory of the process for a moment: kNotFound where it has been chosen by the OOM
// killer (pid; 0: not known).
[[nodiscard]] Result<std::string> read_process_file(int directory, int pid, ProcessFile file, std::size_t max);
// Where its symbolic link leads: the path of an executable, hostile; the number of a namespace.
[[nodiscard]] Result<std::string> link_of_process(int directory, ProcessFile file);

// Opens /tmp/perf-PID.map as the process sees it: in its root directory, under its number in its pid namespace. Links
// are followed inside that root only, and only a regular file is taken. Invalid if there is none. May block on a file
// system that hangs. directory: an open /proc/PID.
[[nodiscard]] UniqueFd open_perf_map(int directory);

// One living process through one open /proc/PID: everything read through it belongs to that process, even after its pid
// has been recycled (reads then fail with ESRCH). One thread.
class TargetProcess {
 public:
  // kNotFound when the process is gone, exiting or being killed for its memory, or the pid belongs to another process
  // by now (start_ticks 0 accepts any process).
  [[nodiscard]] static Result<TargetProcess> open(const std::string& proc_root, ProcessKey key);

  [[nodiscard]] ProcessKey key() const { return key_; }
  [[nodiscard]] int dir_fd() const { return directory_.get(); }
  // Neither gone nor a zombie nor a victim of the OOM killer.
  [[nodiscard]] bool is_alive() const;
  // Whether fd number `fd` is the socket with this inode.
  [[nodiscard]] bool holds_socket(int fd, std::uint64_t inode) const;

 private:
  TargetProcess(UniqueFd directory, ProcessKey key) : directory_(std::move(directory)), key_(key) {}
  UniqueFd directory_;
  ProcessKey key_;
};

}  // namespace oomw
