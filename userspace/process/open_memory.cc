// SPDX-License-Identifier: Apache-2.0
#include "process/open_memory.h"

#include <unistd.h>

#include <cerrno>
#include <limits>
#include <utility>

#include "base/victim_marks.h"

namespace oomw {

Result<OpenMemory> OpenMemory::open(const TargetProcess& process) {
  RETURN_IF_ERROR(may_hold_memory_of(process.key().pid));  // opening these holds it, too
  OpenMemory opened;
  opened.pid = process.key().pid;
  ASSIGN_OR_RETURN(opened.memory, open_process_file(process.dir_fd(), ProcessFile::kMem));
  if (auto page_map = open_process_file(process.dir_fd(), ProcessFile::kPagemap))
    opened.page_map = std::move(*page_map);
  return opened;
}

Result<std::size_t> MemorySource::read_some(std::uint64_t address, std::span<std::byte> out) const {
  if (address > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()) - out.size()) return 0;
  const auto read = [this](std::uint64_t at, std::span<std::byte> piece) -> Result<std::size_t> {
    RETURN_IF_ERROR(may_hold_memory_of(pid_));
    ssize_t n = 0;
    do {
      n = ::pread(fd_, piece.data(), piece.size(), static_cast<off_t>(at));
    } while (n < 0 && errno == EINTR);
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno == EIO || errno == EFAULT) return 0;
    return fail_errno(errno, "reading process memory");
  };
  return read_in_pieces(address, out, read);
}

}  // namespace oomw
