// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include <tl/expected.hpp>

#include "base/clock.h"
#include "base/result.h"
#include "process/open_memory.h"
#include "reader/reader.h"
#include "runtimes/go/binary.h"
#include "runtimes/go/frame_table.h"
#include "runtimes/go/go_reading.h"
#include "runtimes/go/heap_reader.h"

namespace oomw::go {

// Parses for the registry what a container wrote: its executables, and its memory. Thread-safe; blocks as long as the
// file system, the search or the walk takes. owners: of the files, see reader::Reader::run().
class ProgramInspector {
 public:
  virtual ~ProgramInspector() = default;
  // Whether a reader hangs in a file of this owner, so that opening another may hang as well. Counts the refusal.
  [[nodiscard]] virtual bool refuses(const std::function<std::string()>& owner) = 0;
  // As inspect_binary(); "no readable ELF" is a result, with the reason in `why`. An Error: it could not be inspected
  // this time (kTimeout, kUnavailable), and may be tried again.
  [[nodiscard]] virtual Result<GoBinary> inspect(int exe_fd, std::span<const std::string> owners) = 0;
  // As scan_for_list_head(), in the pages that the process has.
  [[nodiscard]] virtual Result<std::uint64_t> find_list_head(const OpenMemory& memory, elf::AddressRange bss,
                                                             std::span<const std::string> owners) = 0;
  // As read_evidence().
  [[nodiscard]] virtual tl::expected<HeapEvidence, reader::Failure> read_heap(const OpenMemory& memory,
                                                                              const HeapTarget& target,
                                                                              MonotonicTime deadline,
                                                                              std::span<const std::string> owners) = 0;
  // As go::name_frames(). What was not read by `deadline` has no name.
  [[nodiscard]] virtual Result<NamedFrames> name_frames(int exe_fd, std::span<const WantedAddress> wanted,
                                                        MonotonicTime deadline,
                                                        std::span<const std::string> owners) = 0;
};

}  // namespace oomw::go
