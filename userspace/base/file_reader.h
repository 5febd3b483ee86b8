// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <vector>

namespace oomw {

// One item after the other from a file that another process may be changing: nothing of it is mapped. Starts at its
// beginning, wherever the descriptor's offset is. Borrows fd.
class FileReader {
 public:
  explicit FileReader(int fd) : fd_(fd) {}

  // False: the file ends before.
  [[nodiscard]] bool read(std::span<std::byte> out);
  template <typename T>
  [[nodiscard]] bool read_numbers(std::span<T> numbers) {
    return read(std::as_writable_bytes(numbers));
  }

 private:
  bool fill();

  const int fd_;
  off_t offset_ = 0;
  std::size_t next_ = 0, end_ = 0;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(64u << 10);
};

}  // namespace oomw
