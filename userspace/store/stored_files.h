// SPDX-License-Identifier: Apache-2.0
// The files of one incident on disk, for whatever carries them elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace oomw {

struct StoredFile {
  std::string name;
  UniqueFd fd;  // open for reading; what replaces the file later does not change what is read here
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::uint64_t inode = 0;
};

inline constexpr std::size_t kMaxStoredFiles = 1'000;
inline constexpr std::uint64_t kMaxStoredFileBytes = 256u << 20;

// Names that are evidence, sorted, incident.json last: who has it has all. Without those that begin with a dot, which
// are notes of this node (delivery markers).
[[nodiscard]] Result<std::vector<std::string>> stored_file_names(const std::string& directory);
// kInvalid: a link, a device, a directory; kLimit: longer than kMaxStoredFileBytes; kNotFound: gone.
[[nodiscard]] Result<StoredFile> open_stored_file(const std::string& directory, const std::string& name);

}  // namespace oomw
