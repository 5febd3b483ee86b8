// SPDX-License-Identifier: Apache-2.0
#include "growth/python_code.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "memory/present_pages.h"
#include "process/open_memory.h"
#include "process/process_files.h"

namespace oomw::growth {
namespace {

// The same in all of these versions.
constexpr std::uint64_t kTextState = 32, kBytesBytes = 32;
constexpr std::string_view kOwnFile = "<shim>";  // from 3.12 on
constexpr unsigned kCompactAscii = 3u << 5;
constexpr int kMaxProof = 512;  // frames
constexpr int kMaxThreads = 256, kMaxInterpreters = 16;
constexpr std::size_t kMaxLocals = 10;

bool is_identifier(std::string_view part) {
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !part.empty() && !(part[0] >= '0' && part[0] <= '9') && std::ranges::all_of(part, is_word);
}

std::uint64_t varint(std::string_view table, std::size_t at) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; at < table.size() && shift < 36; shift += 6) {
    const auto byte = static_cast<unsigned char>(table[at++]);
    value |= static_cast<std::uint64_t>(byte & 0x3f) << shift;
    if ((byte & 0x40) == 0) break;
  }
  return value;
}

// By how much the entry at `at` moves the line.
std::int64_t line_step(std::string_view table, std::size_t at) {
  const unsigned kind = static_cast<unsigned char>(table[at]) >> 3 & 15;
  if (kind >= 10 && kind <= 12) return kind - 10;
  if (kind != 13 && kind != 14) return 0;
  const std::uint64_t value = varint(table, at + 1);
  const auto size = static_cast<std::int64_t>(value >> 1);
  return (value & 1) != 0 ? -size : size;
}

std::uint64_t positive(std::int64_t line) { return line < 0 ? 0 : static_cast<std::uint64_t>(line); }

// Of the pairs in the tables up to 3.10: bytes of instructions, and by how much the line moves.
std::uint64_t bytes_of_pair(std::string_view table, std::size_t at) { return static_cast<unsigned char>(table[at]); }
std::int64_t step_of_pair(std::string_view table, std::size_t at) { return static_cast<signed char>(table[at + 1]); }

std::uint64_t line_by_steps(const PythonCode& code, std::uint64_t wanted) {
  const std::string_view table = code.line_table;
  auto line = static_cast<std::int64_t>(code.first_line);
  std::uint64_t begin = 0;
  for (std::size_t at = 0; at + 1 < table.size(); at += 2) {
    begin += bytes_of_pair(table, at);
    if (begin > wanted) break;
    line += step_of_pair(table, at);
  }
  return positive(line);
}

std::uint64_t line_by_ranges(const PythonCode& code, std::uint64_t wanted) {
  constexpr std::int64_t kNoLine = -128;
  const std::string_view table = code.line_table;
  auto line = static_cast<std::int64_t>(code.first_line);
  std::uint64_t end = 0;
  for (std::size_t at = 0; at + 1 < table.size(); at += 2) {
    const std::int64_t step = step_of_pair(table, at);
    end += bytes_of_pair(table, at);
    if (step != kNoLine) line += step;
    if (wanted < end) return step == kNoLine ? 0 : positive(line);
  }
  return 0;
}

bool begins_entry(char byte) { return (static_cast<unsigned char>(byte) & 0x80) != 0; }

std::uint64_t line_by_locations(const PythonCode& code, std::uint64_t wanted) {
  const std::string_view table = code.line_table;
  std::uint64_t end = 0;
  auto line = static_cast<std::int64_t>(code.first_line);
  for (std::size_t at = 0; at < table.size(); ++at) {
    if (!begins_entry(table[at])) continue;
    const auto head = static_cast<unsigned char>(table[at]);
    line += line_step(table, at);
    end += 2 * ((head & 7) + 1U);
    if (wanted < end) return (head >> 3 & 15) == 15 ? 0 : positive(line);
  }
  return 0;
}

}  // namespace

Result<std::size_t> PresentMemory::read_some(std::uint64_t address, std::span<std::byte> out) const {
  const auto read = [this](std::uint64_t at, std::span<std::byte> piece) -> Result<std::size_t> {
    std::uint64_t entry = 0;
    ASSIGN_OR_RETURN(const std::size_t size,
                     FdSource(page_map_).read_some(at / kReadPiece * sizeof entry,
                                                   std::as_writable_bytes(std::span<std::uint64_t, 1>(&entry, 1))));
    if (size != sizeof entry || !is_private_anonymous_page(entry)) return 0;
    return MemorySource(memory_).read_some(at, piece);
  };
  return read_in_pieces(address, out, read);
}

bool is_python_name(std::string_view text) {
  constexpr std::array<std::string_view, 7> kWords = {"<locals>",   "<lambda>",  "<module>", "<listcomp>",
                                                      "<dictcomp>", "<setcomp>", "<genexpr>"};
  const std::vector<std::string_view> parts = split(text, '.');
  return !text.empty() && parts.size() <= 2 * kMaxLocals && std::ranges::all_of(parts, [&](std::string_view part) {
    return is_identifier(part) || std::ranges::find(kWords, part) != kWords.end();
  });
}

bool is_library_path(std::string_view path) {
  constexpr std::array<std::string_view, 4> kMarks = {"/lib/python3", "/site-packages/", "/dist-packages/", "<frozen "};
  return std::ranges::any_of(kMarks, [&](std::string_view mark) { return path.find(mark) != std::string_view::npos; });
}

// A frame that has not begun stands one before its first instruction.
std::uint64_t line_of(const PythonCode& code, std::uint64_t instruction) {
  if (code.lines == PythonLines::kLocations) {
    return line_by_locations(code, instruction < code.first_instruction ? 0 : instruction - code.first_instruction);
  }
  const std::int64_t last = std::max(static_cast<std::int32_t>(instruction), 0);
  const auto index = static_cast<std::uint64_t>(last);
  return code.lines == PythonLines::kRanges ? line_by_ranges(code, index * 2) : line_by_steps(code, index);
}

std::string PythonReader::text_at(std::uint64_t object, std::size_t most) {
  if (!is_of(object, symbols_.text_type)) return "";
  const std::uint64_t size = word(object + 16);
  const auto state = static_cast<std::uint32_t>(word(object + kTextState));
  if (size == 0 || size > most || (state & kCompactAscii) != kCompactAscii) return "";
  std::string text(size, '\0');
  if (!reader_.read(object + at_.text, std::as_writable_bytes(std::span(text)))) return "";
  return text;
}

std::string PythonReader::bytes_at(std::uint64_t object, std::size_t most) {
  if (!is_of(object, symbols_.bytes_type)) return "";
  const std::uint64_t size = word(object + 16);
  std::string bytes(size > most ? 0 : size, '\0');
  if (!reader_.read(object + kBytesBytes, std::as_writable_bytes(std::span(bytes)))) return "";
  return bytes;
}

// Those that are identifiers, of the first so many.
std::vector<std::string> PythonReader::identifiers_at(std::uint64_t tuple) {
  std::vector<std::string> found;
  const std::uint64_t size = tuple == 0 ? 0 : word(tuple + 16);
  if (size > PythonCode::kMaxTuple) return found;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(size, GrowthFrame::kMaxUses); ++i) {
    std::string text = text_at(word(tuple + at_.items_of_tuple + i * 8), GrowthFrame::kMaxUse);
    if (is_identifier(text)) found.push_back(std::move(text));
  }
  return found;
}

std::optional<PythonCode> PythonReader::code_at(std::uint64_t address) {
  if (!symbols_.offsets || !is_of(address, symbols_.code_type)) return std::nullopt;
  PythonCode code;
  const std::string path = text_at(word(address + at_.file), PythonCode::kMaxPath);
  code.is_interpreters = path == kOwnFile;
  if (code.is_interpreters) return code;
  code.function = text_at(word(address + at_.function), PythonCode::kMaxName);
  if (!is_python_name(code.function)) return std::nullopt;
  code.file = printable(base_name(path), PythonCode::kMaxName);
  code.is_library = is_library_path(path);
  if (!code.is_library) code.uses = identifiers_at(word(address + at_.names));
  code.first_line = reader_.get<std::uint32_t>(address + at_.first_line).value_or(0);
  code.first_instruction = address + at_.instructions;
  code.lines = at_.lines;
  code.line_table = bytes_at(word(address + at_.line_table), PythonCode::kMaxLineTable);
  return code;
}

std::uint64_t PythonReader::main_interpreter() {
  std::uint64_t interpreter = word(symbols_.runtime + at_.interpreters);
  for (int i = 0; i < kMaxInterpreters && interpreter != 0; ++i) {
    const std::uint64_t next = word(interpreter + at_.next_interpreter);
    if (next == 0) return interpreter;
    interpreter = next;
  }
  return 0;
}

// Code in a page that nobody has written to cannot be read, so it proves nothing; there must be some that does.
bool PythonReader::has_proved_frames(std::uint64_t thread) {
  std::uint64_t frame = word(thread + at_.frame_of_thread);
  if (at_.has_cframe && frame != 0) frame = word(frame + at_.frame_of_cframe);
  bool is_proved = false;
  for (int i = 0; i < kMaxProof && frame != 0; ++i) {
    const std::uint64_t code = address_of(word(frame + at_.code_of_frame));
    const auto type = reader_.get<std::uint64_t>(code + 8);
    if (code == 0 || (type && *type != symbols_.code_type && !is_none(code))) return false;
    is_proved = is_proved || (type && *type == symbols_.code_type);
    frame = word(frame + at_.previous_of_frame);
  }
  return is_proved;
}

// Of the main interpreter's threads, also while each waits.
bool PythonReader::has_proved_threads(std::uint64_t interpreter, std::uint64_t holder) {
  bool is_holder_known = false, is_proved = false;
  std::uint64_t thread = word(interpreter + at_.threads);
  for (int i = 0; i < kMaxThreads && thread != 0 && !(is_holder_known && is_proved); ++i) {
    is_holder_known = is_holder_known || thread == holder;
    is_proved = is_proved || has_proved_frames(thread);
    thread = word(thread + at_.next_thread);
  }
  return is_holder_known && is_proved;
}

std::optional<PythonLayout> PythonReader::layout() {
  if (!symbols_.offsets) return std::nullopt;
  const std::uint64_t interpreter = main_interpreter();
  if (interpreter == 0) return std::nullopt;
  const std::uint64_t place =
      at_.holder_of_runtime != 0 ? symbols_.runtime + at_.holder_of_runtime : interpreter + at_.holder_of_interpreter;
  const std::uint64_t holder = word(place);
  const std::uint64_t id = holder == 0 ? 0 : word(holder + at_.id_of_thread);
  if (id == 0 || word(id) != id || !has_proved_threads(interpreter, holder)) return std::nullopt;
  PythonLayout layout;
  layout.thread_state = place;
  layout.id_of_thread = at_.id_of_thread;
  layout.frame_of_thread = at_.frame_of_thread;
  layout.has_cframe = at_.has_cframe;
  layout.frame_of_cframe = at_.frame_of_cframe;
  layout.code_of_frame = at_.code_of_frame;
  layout.previous_of_frame = at_.previous_of_frame;
  layout.instruction_of_frame = at_.instruction_of_frame;
  return layout;
}

const PythonCode* PythonCodes::get(Process process, std::uint64_t address, PythonReader* reader) {
  auto& codes = processes_.get(process);
  auto now = reader != nullptr ? reader->code_at(address) : std::nullopt;
  const auto known = codes.find(address);
  if (!now) return known == codes.end() ? nullptr : &known->second;
  if (known == codes.end() && codes.size() >= kMaxCodes) codes.clear();
  return &(codes[address] = std::move(*now));
}

}  // namespace oomw::growth
