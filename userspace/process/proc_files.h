// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace oomw {

// What lies below /proc/PID and is shaped by the process, or can stall whoever opens or reads it: a FUSE mount answers
// for its files, its mmap_lock for its memory. Opened here and in no other room (tests/unit/includes_test.cc); which
// thread may do that is the caller's care. `directory`: an open /proc/PID.
enum class ProcessFile {
  kMemory,
  kPageMap,
  kMaps,
  kExecutable,
  kRoot,
  kDescriptors,
  kMountNamespace,
  kNetworkNamespace,
  kCommandLine,
  kEnvironment
};

// Its name below /proc/PID.
[[nodiscard]] const char* name_of(ProcessFile file);
// For reading; directories as such.
[[nodiscard]] Result<UniqueFd> open_process_file(int directory, ProcessFile file);
// The mapped file itself, whatever its path names by now; addresses as maps has them.
[[nodiscard]] Result<UniqueFd> open_mapped_file(int directory, std::uint64_t begin, std::uint64_t end);
// Its first bytes. Reading holds the memory of the process for a moment: kNotFound where it has been chosen by the OOM
// killer (pid; 0: not known).
[[nodiscard]] Result<std::string> read_process_file(int directory, int pid, ProcessFile file, std::size_t max);
// Where its symbolic link leads: the path of an executable, hostile; the number of a namespace.
[[nodiscard]] Result<std::string> link_of_process(int directory, ProcessFile file);

}  // namespace oomw
