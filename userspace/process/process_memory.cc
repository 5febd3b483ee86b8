// SPDX-License-Identifier: Apache-2.0
#include "process/process_memory.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

#include "base/victim_marks.h"

namespace oomw {

ProcessMemory::ProcessMemory(int pid, const std::string& proc_root) : pid_(pid), is_by_file_(proc_root != "/proc") {
  if (!is_by_file_) return;
  file_ = UniqueFd(::open((proc_root + "/" + std::to_string(pid) + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  if (file_.get() < 0) open_error_ = errno;
}

// Also 0 if the process has ended meanwhile; the caller compares the image afterwards.
Result<std::size_t> ProcessMemory::read_file(std::uint64_t address, std::span<std::byte> out) const {
  if (file_.get() < 0) return fail_errno(open_error_, "opening process memory");
  if (address > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()) - out.size()) return 0;
  const ssize_t n = ::pread(file_.get(), out.data(), out.size(), static_cast<off_t>(address));
  if (n >= 0) return static_cast<std::size_t>(n);
  if (errno == EIO || errno == EFAULT) return 0;
  return fail_errno(errno, "reading process memory");
}

Result<std::size_t> ProcessMemory::read_some(std::uint64_t address, std::span<std::byte> out) const {
  return read_in_pieces(address, out, [this](std::uint64_t at, std::span<std::byte> piece) -> Result<std::size_t> {
    RETURN_IF_ERROR(may_hold_memory_of(pid_));
    return is_by_file_ ? read_file(at, piece) : read_call(at, piece);
  });
}

Result<std::size_t> ProcessMemory::read_call(std::uint64_t address, std::span<std::byte> out) const {
  const iovec local{out.data(), out.size()};
  // The kernel only reads from it, the type is shared with process_vm_writev.
  const iovec remote{reinterpret_cast<void*>(address), out.size()};
  const ssize_t n = ::process_vm_readv(pid_, &local, 1, &remote, 1, 0);
  if (n >= 0) return static_cast<std::size_t>(n);
  if (errno == EFAULT || errno == EINVAL) return 0;
  return fail_errno(errno, "reading process memory");
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
