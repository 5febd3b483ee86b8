// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"
#include "runtimes/go/binary.h"

namespace oomw::go {

// /proc/PID/mem and /proc/PID/pagemap of one process, borrowed.
struct OpenMemory {
  int memory = -1;
  int page_map = -1;  // -1: this kernel has none
  int pid = 0;        // for VictimMarks; 0: not known
};

// Parses for the registry what a container wrote: its executables, and the memory in which a list head is searched for.
// Thread-safe; blocks as long as the file system or the search takes. owners: of the files, see reader::Reader::run().
class ProgramInspector {
 public:
  virtual ~ProgramInspector() = default;
  // Whether a reader hangs in a file of this owner, so that opening another may hang as well. Counts the refusal.
  [[nodiscard]] virtual bool refuses(const std::function<std::string()>& owner) = 0;
  // As inspect_binary(); "no readable ELF" is a result, with the reason in `why`. An Error: it could not be inspected
  // this time (kTimeout, kUnavailable), and may be tried again.
  [[nodiscard]] virtual Result<GoBinary> inspect(int exe_fd, std::span<const std::string> owners) = 0;
  // As scan_for_list_head(), in the pages that the process has.
  [[nodiscard]] virtual Result<std::uint64_t> find_list_head(const OpenMemory& memory, AddressRange bss,
                                                             std::span<const std::string> owners) = 0;
};

}  // namespace oomw::go
