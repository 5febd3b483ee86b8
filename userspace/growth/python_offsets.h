// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "elf/elf_file.h"

namespace oomw::growth {

// How a code object leads from an instruction to its line.
enum class PythonLines {
  kSteps,      // 3.8, 3.9: pairs of steps, of bytes and lines
  kRanges,     // 3.10: pairs of a range's bytes and a step of lines
  kLocations,  // from 3.11 on
};

// Where one version of CPython, in its usual build on x86-64, keeps what its frames are found and named by: offsets in
// bytes, of the fields of its structures.
struct PythonOffsets {
  std::uint32_t interpreters = 0;  // of _PyRuntime: the newest; the main one is the last of the list
  std::uint32_t next_interpreter = 0, threads = 0;
  // The thread that holds the interpreter's lock, or held it last; one of the two, the other is 0.
  std::uint32_t holder_of_runtime = 0, holder_of_interpreter = 0;
  std::uint32_t next_thread = 0, id_of_thread = 0, frame_of_thread = 0;
  bool has_cframe = false;
  std::uint32_t frame_of_cframe = 0;
  std::uint32_t code_of_frame = 0, previous_of_frame = 0, instruction_of_frame = 0;
  std::uint32_t names = 0, first_line = 0, file = 0, function = 0, line_table = 0;  // of a code object
  std::uint32_t instructions = 0;  // of a code object; 0: frames count theirs from 0
  PythonLines lines = PythonLines::kLocations;
  std::uint32_t text = 0;  // of a str of ASCII: its characters
  std::uint32_t items_of_tuple = 24;
};

// version: 0x030b for 3.11. From 3.13 on they are what the file itself says of them, at _PyRuntime's link-time address.
// Nothing: not known, or a build without the lock (its objects differ).
[[nodiscard]] std::optional<PythonOffsets> python_offsets(std::uint32_t version, const elf::File& file,
                                                          std::uint64_t runtime);

}  // namespace oomw::growth
