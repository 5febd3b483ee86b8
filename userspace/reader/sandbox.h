// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/result.h"

namespace oomw::reader {

struct SandboxLimits {
  std::uint64_t memory_bytes = 80u << 20;  // address space, in addition to that of the program itself
  std::uint64_t cpu_seconds = 30;          // of the process; the kernel ends it then
  std::uint64_t files = 32;                // open at once
  std::uint64_t file_bytes = 64u << 20;    // written into one file
  int nice = 0;                            // no better priority than this
};

// Gives up, for good, all that this process could do to others: capabilities, new privileges, the file system (landlock
// where the kernel has it), the network, other processes, executable memory, core dumps, and memory, CPU and files
// beyond the limits. What stays are the files that are open, or come over `socket`. `parent` is the process that it
// dies with: when the thread that started it ends. Fails if one of the parts that every supported kernel has cannot be
// had; the process should exit then.
[[nodiscard]] Result<> confine(int socket, int parent, const SandboxLimits& limits);

// For a server that parses nothing itself but opens files and starts readers: gives up capabilities and new privileges,
// and bounds memory, open files and what it may write. `parent` as above; CPU time is not bounded.
[[nodiscard]] Result<> confine_server(int parent, const SandboxLimits& limits);

// The last step: only the system calls that reading needs, by an allow-list. All others fail with EPERM and do not end
// the process: a library that tries something it can do without must not cost a capture.
[[nodiscard]] Result<> allow_reading_only(int socket);

}  // namespace oomw::reader
