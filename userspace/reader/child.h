// SPDX-License-Identifier: Apache-2.0
// The reader process, from the inside.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "reader/sandbox.h"

namespace oomw::reader {

// Reads the files and returns the answer, at most kMaxMessage less 64 bytes. May run out of memory (std::bad_alloc).
using JobFunction = Result<std::string> (*)(std::string_view parameters, std::span<const UniqueFd> files);

// The jobs that a program's reader knows. Each room has the half of its jobs that runs in the reader beside the half
// that asks for it; the program puts the list together.
struct JobEntry {
  std::uint32_t kind = 0;
  JobFunction run = nullptr;
};

// The hidden command: `PROGRAM reader PARENT_PID IDLE_MS [ahead]`, started by reader/reader.h with a socket as its only
// open file. Confines itself, then answers one job after the other until the socket is closed, no job came for IDLE_MS,
// or it has used the CPU time of a few jobs (a new process then starts with a clean memory). Returns the exit code.
[[nodiscard]] int run_child(int argc, const char* const* argv, std::span<const JobEntry> jobs,
                            const SandboxLimits& limits = {});

}  // namespace oomw::reader
