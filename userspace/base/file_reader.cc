// SPDX-License-Identifier: Apache-2.0
#include "base/file_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace oomw {

bool FileReader::read(std::span<std::byte> out) {
  while (!out.empty()) {
    if (next_ == end_ && !fill()) return false;
    const std::size_t count = std::min(out.size(), end_ - next_);
    std::memcpy(out.data(), buffer_.data() + next_, count);
    next_ += count;
    out = out.subspan(count);
  }
  return true;
}

bool FileReader::fill() {
  ssize_t n = -1;
  do {
    n = ::pread(fd_, buffer_.data(), buffer_.size(), offset_);
  } while (n < 0 && errno == EINTR);
  if (n <= 0) return false;
  offset_ += n;
  next_ = 0;
  end_ = static_cast<std::size_t>(n);
  return true;
}

}  // namespace oomw
