// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.h"
#include "base/result.h"

namespace oomw {

// Which processes the OOM killer has chosen in the last seconds: a page that the programs in the kernel write before or
// while SIGKILL is sent (bpf/core/victims.h), and that everyone who reads the memory of others looks at before each
// read, without a system call. Why: byte_source.h, kReadPiece. Of the whole process; any thread. Without a page, and on
// kernels without those programs, nobody is known to be chosen.
class VictimMarks {
 public:
  static constexpr int kNoFd = -1;
  // A pid may belong to another process after that.
  static constexpr Nanoseconds kValid = std::chrono::seconds(10);

  // Maps the page of `fd` (the BPF map `victims`, or a file of that size) for as long as this process lives, instead of
  // what was mapped before. Keeps a copy of fd.
  [[nodiscard]] static Result<> attach(int fd);
  // Nothing is known from here on.
  static void detach();
  // For a child, which may attach it too; kNoFd: there is none.
  [[nodiscard]] static int fd();
  // `pid` as the initial pid namespace numbers it.
  [[nodiscard]] static bool has(int pid);
};

// An error where `pid` has been chosen: what is to be asked before each call that holds its memory.
[[nodiscard]] inline Result<> may_hold_memory_of(int pid) {
  if (VictimMarks::has(pid)) return fail(ErrorCode::kNotFound, "the process is being killed");
  return {};
}

}  // namespace oomw
