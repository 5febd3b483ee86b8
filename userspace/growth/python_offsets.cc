// SPDX-License-Identifier: Apache-2.0
#include "growth/python_offsets.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace oomw::growth {
namespace {

// A thread's state is `frame`, or leads to it by its cframe on the stack (3.11, 3.12); frames are objects up to 3.10.
constexpr PythonOffsets kPython38 = {.interpreters = 32,
                                     .next_interpreter = 0,
                                     .threads = 8,
                                     .holder_of_runtime = 1160,
                                     .next_thread = 8,
                                     .id_of_thread = 176,
                                     .frame_of_thread = 24,
                                     .code_of_frame = 32,
                                     .previous_of_frame = 24,
                                     .instruction_of_frame = 104,
                                     .names = 64,
                                     .first_line = 40,
                                     .file = 104,
                                     .function = 112,
                                     .line_table = 120,
                                     .lines = PythonLines::kSteps,
                                     .text = 48};

constexpr PythonOffsets python39() {
  PythonOffsets offsets = kPython38;
  offsets.holder_of_runtime = 360;
  return offsets;
}

constexpr PythonOffsets python310() {
  PythonOffsets offsets = python39();
  offsets.instruction_of_frame = 96;
  offsets.lines = PythonLines::kRanges;
  return offsets;
}

constexpr PythonOffsets kPython311 = {.interpreters = 40,
                                      .next_interpreter = 0,
                                      .threads = 16,
                                      .holder_of_runtime = 368,
                                      .next_thread = 8,
                                      .id_of_thread = 152,
                                      .frame_of_thread = 56,
                                      .has_cframe = true,
                                      .frame_of_cframe = 8,
                                      .code_of_frame = 32,
                                      .previous_of_frame = 48,
                                      .instruction_of_frame = 56,
                                      .names = 32,
                                      .first_line = 72,
                                      .file = 112,
                                      .function = 128,
                                      .line_table = 136,
                                      .instructions = 184,
                                      .text = 48};

constexpr PythonOffsets kPython312 = {.interpreters = 40,
                                      .next_interpreter = 0,
                                      .threads = 72,
                                      .holder_of_interpreter = 1048,
                                      .next_thread = 8,
                                      .id_of_thread = 136,
                                      .frame_of_thread = 56,
                                      .has_cframe = true,
                                      .frame_of_cframe = 0,
                                      .code_of_frame = 0,
                                      .previous_of_frame = 8,
                                      .instruction_of_frame = 56,
                                      .names = 32,
                                      .first_line = 68,
                                      .file = 112,
                                      .function = 128,
                                      .line_table = 136,
                                      .instructions = 192,
                                      .text = 40};

// What 3.13 says of itself at the beginning of _PyRuntime, as words of 8 bytes.
constexpr std::size_t kDebugWords = 71;
using DebugWords = std::array<std::uint64_t, kDebugWords>;
constexpr std::uint64_t kMostOffset = 1u << 20;

bool is_usual_build(const DebugWords& words, std::uint32_t version) {
  constexpr std::size_t kVersion = 1, kIsFreeThreaded = 2, kTypeOfObject = 45, kItemsOfTuple = 51, kBytesOfBytes = 66,
                        kStateOfText = 68, kLengthOfText = 69;
  return std::memcmp(words.data(), "xdebugpy", 8) == 0 && words[kVersion] >> 16 == version &&
         words[kIsFreeThreaded] == 0 && words[kTypeOfObject] == 8 && words[kItemsOfTuple] == 24 &&
         words[kBytesOfBytes] == 32 && words[kStateOfText] == 32 && words[kLengthOfText] == 16;
}

std::optional<PythonOffsets> python313(const go::ElfFile& file, std::uint64_t runtime) {
  const auto words = file.get_at<DebugWords>(runtime);
  if (!words || !is_usual_build(*words, 0x030d)) return std::nullopt;
  const auto is_offset = [](std::uint64_t word) { return word < kMostOffset; };
  if (!std::all_of(words->begin() + 3, words->end(), is_offset)) return std::nullopt;
  const auto at = [&](std::size_t word) { return static_cast<std::uint32_t>((*words)[word]); };
  PythonOffsets offsets;
  offsets.interpreters = at(5);
  offsets.next_interpreter = at(8);
  offsets.threads = at(9);
  offsets.holder_of_interpreter = at(18);
  offsets.next_thread = at(21);
  offsets.frame_of_thread = at(23);
  offsets.id_of_thread = at(24);
  offsets.previous_of_frame = at(29);
  offsets.code_of_frame = at(30);
  offsets.instruction_of_frame = at(31);
  offsets.file = at(35);
  offsets.function = at(37);
  offsets.line_table = at(38);
  offsets.first_line = at(39);
  offsets.instructions = at(43);
  offsets.text = at(70);
  offsets.names = kPython312.names;  // the only one that is not among them
  return offsets;
}

}  // namespace

std::optional<PythonOffsets> python_offsets(std::uint32_t version, const go::ElfFile& file, std::uint64_t runtime) {
  switch (runtime == 0 ? 0 : version) {
    case 0x0308:
      return kPython38;
    case 0x0309:
      return python39();
    case 0x030a:
      return python310();
    case 0x030b:
      return kPython311;
    case 0x030c:
      return kPython312;
    case 0x030d:
      return python313(file, runtime);
    default:
      return std::nullopt;
  }
}

}  // namespace oomw::growth
