// SPDX-License-Identifier: Apache-2.0
#include "growth/python_offsets.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

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

// What Python says of itself from 3.13 on, at the beginning of _PyRuntime: words of 8 bytes. Which of them says what.
struct DebugWords {
  std::size_t count;
  std::size_t interpreters, next_interpreter, threads, holder;
  std::size_t next_thread, frame_of_thread, id_of_thread;
  std::size_t previous_of_frame, code_of_frame, instruction_of_frame;
  std::size_t file, function, line_table, first_line, instructions;
  std::size_t type_of_object, items_of_tuple, bytes_of_bytes, state_of_text, length_of_text, text;
};
constexpr std::size_t kVersion = 1, kIsFreeThreaded = 2, kFirstOffset = 3, kMaxDebugWords = 81;
constexpr DebugWords kWords313 = {71, 5, 8, 9, 18, 21, 23, 24, 29, 30, 31, 35, 37, 38, 39, 43, 45, 51, 66, 68, 69, 70};
constexpr DebugWords kWords314 = {81, 5, 8, 9, 19, 24, 26, 27, 32, 33, 34, 40, 42, 43, 44, 48, 51, 57, 76, 78, 79, 80};
constexpr std::uint64_t kMostOffset = 1u << 20;

std::optional<PythonOffsets> own_offsets(std::uint32_t version, const DebugWords& places, const elf::File& file,
                                         std::uint64_t runtime) {
  std::array<std::uint64_t, kMaxDebugWords> words{};
  const auto said = std::span(words).first(places.count);
  if (!file.read_at(runtime, std::as_writable_bytes(said))) return std::nullopt;
  const bool is_usual_build = std::memcmp(words.data(), "xdebugpy", 8) == 0 && words[kVersion] >> 16 == version &&
                              words[kIsFreeThreaded] == 0 && words[places.type_of_object] == 8 &&
                              words[places.bytes_of_bytes] == 32 && words[places.state_of_text] == 32 &&
                              words[places.length_of_text] == 16;
  const auto is_offset = [](std::uint64_t word) { return word < kMostOffset; };
  if (!is_usual_build || !std::ranges::all_of(said.subspan(kFirstOffset), is_offset)) return std::nullopt;
  const auto at = [&](std::size_t word) { return static_cast<std::uint32_t>(words[word]); };
  PythonOffsets offsets;
  offsets.interpreters = at(places.interpreters);
  offsets.next_interpreter = at(places.next_interpreter);
  offsets.threads = at(places.threads);
  offsets.holder_of_interpreter = at(places.holder);
  offsets.next_thread = at(places.next_thread);
  offsets.frame_of_thread = at(places.frame_of_thread);
  offsets.id_of_thread = at(places.id_of_thread);
  offsets.previous_of_frame = at(places.previous_of_frame);
  offsets.code_of_frame = at(places.code_of_frame);
  offsets.instruction_of_frame = at(places.instruction_of_frame);
  offsets.file = at(places.file);
  offsets.function = at(places.function);
  offsets.line_table = at(places.line_table);
  offsets.first_line = at(places.first_line);
  offsets.instructions = at(places.instructions);
  offsets.items_of_tuple = at(places.items_of_tuple);
  offsets.text = at(places.text);
  offsets.names = kPython312.names;  // the only one that is not among them
  return offsets;
}

}  // namespace

std::optional<PythonOffsets> python_offsets(std::uint32_t version, const elf::File& file, std::uint64_t runtime) {
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
      return own_offsets(version, kWords313, file, runtime);
    case 0x030e:
      return own_offsets(version, kWords314, file, runtime);
    default:
      return std::nullopt;
  }
}

}  // namespace oomw::growth
