// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "elf/elf_file.h"
#include "growth/python_offsets.h"

namespace oomw::growth {

// The function that runs Python's bytecode.
inline constexpr std::string_view kPythonEvaluation = "_PyEval_EvalFrameDefault";

// What CPython exports for its own libraries: addresses, link-time of a file or those of a process. 0: not there.
struct PythonSymbols {
  static constexpr std::uint32_t kOld = 0x0307;  // all versions before 3.8

  std::uint64_t runtime = 0, code_type = 0, text_type = 0, bytes_type = 0, none = 0;
  // 0x030b for 3.11; 0: no Python. Only says which offsets are to be tried: what they lead to is checked.
  std::uint32_t version = 0;
  std::optional<PythonOffsets> offsets;  // nullopt: its frames cannot be read
};

// Of a program or libpython, stripped too. Bounded.
[[nodiscard]] PythonSymbols find_python_symbols(const elf::File& file);

}  // namespace oomw::growth
