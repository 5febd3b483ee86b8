// SPDX-License-Identifier: Apache-2.0
#include "memory/byte_source.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>

namespace oomw {

Result<std::size_t> FdSource::read_some(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()) - out.size()) return 0;
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n = ::pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "reading the executable");
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

Result<std::size_t> SpanSource::read_some(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset < base_ || offset - base_ >= bytes_.size()) return 0;
  const std::size_t n = std::min<std::uint64_t>(out.size(), bytes_.size() - (offset - base_));
  if (n > 0) std::memcpy(out.data(), bytes_.data() + (offset - base_), n);
  return n;
}

}  // namespace oomw
