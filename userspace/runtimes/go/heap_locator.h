// SPDX-License-Identifier: Apache-2.0
// The two ways to find the addresses of the heap profile's variables from the file alone. The third, a scan of a live
// process, is scan_for_list_head.
#pragma once

#include "base/result.h"
#include "runtimes/go/binary.h"
#include "runtimes/go/pclntab.h"

namespace oomw::go {

// Reads .symtab; nothing for stripped files. Stops when all three are found.
[[nodiscard]] HeapVariables locate_by_symbols(const elf::File& elf);

struct CodeFindings {
  HeapVariables variables;
  bool is_profiling_linked = false;  // runtime.MemProfile is part of the program
  bool is_collector = false;         // so is an OpenTelemetry Collector, 0.66 or newer
  std::string why;                   // what was not found
};

// Finds the variables in the code of the runtime's functions that use them, located through the function table: the
// first 8-byte load from .bss in mProf_FlushLocked is the list head, the first 4-byte load of zeroed data in
// mProf_PostSweep the cycle, the second 8-byte one in profilealloc the rate (the first is mcache0). Checked against
// symbols for Go 1.19 to 1.27, amd64 and arm64.
[[nodiscard]] Result<CodeFindings> locate_by_code(const elf::File& elf, const Pclntab& table, std::uint64_t text_start);

}  // namespace oomw::go
