// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtimes/go/elf_file.h"

namespace oomw::growth {

// What CPython exports for its own libraries: addresses, link-time of a file or those of a process. 0: not there.
struct PythonSymbols {
  std::uint64_t runtime = 0, code_type = 0, text_type = 0, bytes_type = 0;
  std::uint32_t version = 0;  // 0x030b for 3.11

  [[nodiscard]] bool is_complete() const {
    return runtime != 0 && code_type != 0 && text_type != 0 && bytes_type != 0 && version != 0;
  }
};

// Of a program or libpython, stripped too. Bounded.
[[nodiscard]] PythonSymbols find_python_symbols(const go::ElfFile& file);

}  // namespace oomw::growth
