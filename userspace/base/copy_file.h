// SPDX-License-Identifier: Apache-2.0
// Writing files from other files, of which nothing passes through this process's memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace oomw {

// The first max_bytes of a file, or all of it if it is shorter, to where the other one is written next. A file in
// memory does as well.
[[nodiscard]] Result<> copy_bytes(int from, int to, std::uint64_t max_bytes);

// write_file_atomic() of base/files.h with content that `fill` writes into the new file.
[[nodiscard]] Result<> write_file_atomic_by(const std::string& path, const std::function<Result<>(int fd)>& fill,
                                            unsigned mode = 0600);

}  // namespace oomw
