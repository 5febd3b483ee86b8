// SPDX-License-Identifier: Apache-2.0
#include "process/open_memory.h"

#include <utility>

#include "base/victim_marks.h"
#include "process/proc_files.h"

namespace oomw {

Result<OpenMemory> OpenMemory::open(const TargetProcess& process) {
  RETURN_IF_ERROR(may_hold_memory_of(process.key().pid));  // opening these holds it, too
  OpenMemory opened;
  opened.pid = process.key().pid;
  ASSIGN_OR_RETURN(opened.memory, open_process_file(process.dir_fd(), ProcessFile::kMemory));
  if (auto page_map = open_process_file(process.dir_fd(), ProcessFile::kPageMap))
    opened.page_map = std::move(*page_map);
  return opened;
}

}  // namespace oomw
