// SPDX-License-Identifier: Apache-2.0
#include "captures/profile_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/files.h"

namespace oomw {
namespace {

constexpr std::uint64_t kLeaseBytes = 1u << 20;

}  // namespace

Result<ProfileFile> ProfileFile::make(MemoryBudget* memory) {
  UniqueFd fd(::memfd_create("oomw-profile", MFD_CLOEXEC));
  if (!fd.is_valid()) return fail_errno(errno, "memfd_create");
  return ProfileFile(std::move(fd), memory);
}

Result<> ProfileFile::lease(std::uint64_t size) {
  while (memory_ != nullptr && leases_.size() * kLeaseBytes < size) {
    auto step = memory_->try_take(kLeaseBytes);
    if (!step) return fail(ErrorCode::kLimit, "other captures took all the memory that is theirs");
    leases_.push_back(std::move(*step));
  }
  return {};
}

Result<> ProfileFile::append(std::string_view bytes) {
  RETURN_IF_ERROR(lease(size_ + bytes.size()));
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "writing a profile to memory");
    size_ += static_cast<std::uint64_t>(n);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<> ProfileFile::adopt_size(std::uint64_t max_bytes) {
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) return fail_errno(errno, "fstat of a profile in memory");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > max_bytes) return fail(ErrorCode::kLimit, "more than " + std::to_string(max_bytes) + " bytes");
  RETURN_IF_ERROR(lease(size));
  size_ = size;
  return {};
}

Result<UniqueFd> ProfileFile::open_read_only() const {
  return open_at(AT_FDCWD, "/proc/self/fd/" + std::to_string(fd_.get()), O_RDONLY);
}

Result<std::string> ProfileFile::read(std::uint64_t max_bytes) const {
  if (size_ > max_bytes) return fail(ErrorCode::kLimit, "more than " + std::to_string(max_bytes) + " bytes");
  ASSIGN_OR_RETURN(const UniqueFd fd, open_read_only());  // with an offset of its own
  return read_open_file(fd.get(), "a profile in memory", size_);
}

}  // namespace oomw
