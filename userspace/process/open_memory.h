// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "process/target_process.h"

namespace oomw {

// The memory of a living process as open files, which belong to one execution of one program: after an exec or the end
// of the process reads give nothing.
struct OpenMemory {
  UniqueFd memory;    // /proc/PID/mem
  UniqueFd page_map;  // /proc/PID/pagemap; none on kernels without it
  int pid = 0;        // for VictimMarks; 0: not known

  // Reads no memory. kNotFound: the process has been chosen by the OOM killer.
  [[nodiscard]] static Result<OpenMemory> open(const TargetProcess& process);
};

}  // namespace oomw
