// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "process/process_image.h"
#include "process/target_process.h"

namespace oomw {

// A file that a process maps besides its executable.
struct MappedFile {
  std::uint64_t start = 0;        // of its first mapping
  std::uint64_t file_offset = 0;  // of that mapping
  std::string name;               // last part of its path; hostile
  UniqueFd file;
};

// What is needed to read a living process from a process that may open nothing: open files, all of one execution of one
// program. Opening them reads no memory of it; an executable on a file system that hangs blocks the caller.
struct ProcessFiles {
  static constexpr std::size_t kMaxMaps = 2u << 20;  // of /proc/PID/maps, searched for libraries
  static constexpr std::size_t kMaxLibraries = 4;

  ProcessImage image;
  UniqueFd memory, page_map, maps, executable;
  std::vector<MappedFile> libraries;

  // `wanted`: beginnings of file names ("libpython3"); the first mapping of each matching file. kNotFound: the process
  // is gone, exiting, or runs another program by now.
  [[nodiscard]] static Result<ProcessFiles> open(const std::string& proc_root, ProcessKey key,
                                                 std::span<const std::string_view> wanted = {});
  // Whether the process still runs that program.
  [[nodiscard]] bool is_still_there() const;
};

}  // namespace oomw
