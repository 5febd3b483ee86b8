// SPDX-License-Identifier: Apache-2.0
#include "memory/open_memory.h"

#include <fcntl.h>

#include <utility>

#include "base/files.h"
#include "base/victim_marks.h"

namespace oomw {

Result<OpenMemory> OpenMemory::open(const TargetProcess& process) {
  RETURN_IF_ERROR(may_hold_memory_of(process.key().pid));  // opening these holds it, too
  OpenMemory opened;
  opened.pid = process.key().pid;
  ASSIGN_OR_RETURN(opened.memory, open_at(process.dir_fd(), "mem", O_RDONLY));
  if (auto page_map = open_at(process.dir_fd(), "pagemap", O_RDONLY)) opened.page_map = std::move(*page_map);
  return opened;
}

}  // namespace oomw
