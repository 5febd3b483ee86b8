// SPDX-License-Identifier: Apache-2.0
#include "process/proc_files.h"

#include <fcntl.h>

#include <array>

#include <fmt/format.h>

#include "base/files.h"
#include "base/victim_marks.h"

namespace oomw {

const char* name_of(ProcessFile file) {
  static constexpr std::array kNames = {"mem", "pagemap", "maps",   "exe",     "root",
                                        "fd",  "ns/mnt",  "ns/net", "cmdline", "environ"};
  return kNames.at(static_cast<std::size_t>(file));
}

Result<UniqueFd> open_process_file(int directory, ProcessFile file) {
  const int flags = file == ProcessFile::kRoot          ? O_PATH | O_DIRECTORY
                    : file == ProcessFile::kDescriptors ? O_RDONLY | O_DIRECTORY
                                                        : O_RDONLY;
  return open_at(directory, name_of(file), flags);
}

Result<UniqueFd> open_mapped_file(int directory, std::uint64_t begin, std::uint64_t end) {
  return open_at(directory, fmt::format("map_files/{:x}-{:x}", begin, end), O_RDONLY);
}

Result<std::string> read_process_file(int directory, int pid, ProcessFile file, std::size_t max) {
  RETURN_IF_ERROR(may_hold_memory_of(pid));
  return read_prefix_at(directory, name_of(file), max);
}

Result<std::string> link_of_process(int directory, ProcessFile file) { return read_link_at(directory, name_of(file)); }

}  // namespace oomw
