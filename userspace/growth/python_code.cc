// SPDX-License-Identifier: Apache-2.0
#include "growth/python_code.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "memory/present_pages.h"
#include "memory/process_files.h"

namespace oomw::growth {
namespace {

// CPython 3.11.
constexpr std::uint64_t kThread = 576, kCframe = 56, kFrame = 8;
constexpr std::uint32_t kCodeOfFrame = 32, kPreviousOfFrame = 48, kInstructionOfFrame = 56;
constexpr std::uint64_t kUses = 32, kItemsOfTuple = 24;
constexpr std::uint64_t kFirstLine = 72, kFile = 112, kName = 128, kLineTable = 136, kInstructions = 184;
constexpr std::uint64_t kTextState = 32, kTextBytes = 48, kBytesBytes = 32;
constexpr unsigned kCompactAscii = 3u << 5;
constexpr std::uint64_t kInterpreter = 48, kThreads = 16, kNextThread = 8;
constexpr int kMaxProof = 512;  // frames
constexpr int kMaxThreads = 16;
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

bool begins_entry(char byte) { return (static_cast<unsigned char>(byte) & 0x80) != 0; }

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

std::uint64_t line_of(const PythonCode& code, std::uint64_t instruction) {
  // A frame that has not begun stands one before its first instruction.
  const std::uint64_t wanted = instruction < code.first_instruction ? 0 : instruction - code.first_instruction;
  const std::string_view table = code.line_table;
  std::uint64_t end = 0;
  auto line = static_cast<std::int64_t>(code.first_line);
  for (std::size_t at = 0; at < table.size(); ++at) {
    if (!begins_entry(table[at])) continue;
    const auto head = static_cast<unsigned char>(table[at]);
    line += line_step(table, at);
    end += 2 * ((head & 7) + 1U);
    if (wanted < end) return (head >> 3 & 15) == 15 || line < 0 ? 0 : static_cast<std::uint64_t>(line);
  }
  return 0;
}

std::string PythonReader::text_at(std::uint64_t object, std::size_t most) {
  if (!is_of(object, symbols_.text_type)) return "";
  const std::uint64_t size = word(object + 16);
  const auto state = static_cast<std::uint32_t>(word(object + kTextState));
  if (size == 0 || size > most || (state & kCompactAscii) != kCompactAscii) return "";
  std::string text(size, '\0');
  if (!reader_.read(object + kTextBytes, std::as_writable_bytes(std::span(text)))) return "";
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
    std::string text = text_at(word(tuple + kItemsOfTuple + i * 8), GrowthFrame::kMaxUse);
    if (is_identifier(text)) found.push_back(std::move(text));
  }
  return found;
}

std::optional<PythonCode> PythonReader::code_at(std::uint64_t address) {
  if (!is_known() || !is_of(address, symbols_.code_type)) return std::nullopt;
  PythonCode code;
  code.function = text_at(word(address + kName), PythonCode::kMaxName);
  if (!is_python_name(code.function)) return std::nullopt;
  const std::string path = text_at(word(address + kFile), PythonCode::kMaxPath);
  code.file = printable(path.substr(path.rfind('/') + 1), PythonCode::kMaxName);
  code.is_library = is_library_path(path);
  if (!code.is_library) code.uses = identifiers_at(word(address + kUses));
  code.first_line = reader_.get<std::uint32_t>(address + kFirstLine).value_or(0);
  code.first_instruction = address + kInstructions;
  code.line_table = bytes_at(word(address + kLineTable), PythonCode::kMaxLineTable);
  return code;
}

std::optional<PythonLayout> PythonReader::layout() {
  if (!is_known()) return std::nullopt;
  // Of the main interpreter's threads, also while each waits: nobody is the running thread then.
  const std::uint64_t interpreter = word(symbols_.runtime + kInterpreter);
  std::uint64_t thread = interpreter == 0 ? 0 : word(interpreter + kThreads);
  std::uint64_t frame = 0;
  for (int i = 0; i < kMaxThreads && thread != 0 && frame == 0; ++i) {
    const std::uint64_t cframe = word(thread + kCframe);
    frame = cframe == 0 ? 0 : word(cframe + kFrame);
    thread = word(thread + kNextThread);
  }
  if (frame == 0) return std::nullopt;
  for (int i = 0; i < kMaxProof && frame != 0; ++i) {
    if (!is_of(word(frame + kCodeOfFrame), symbols_.code_type)) return std::nullopt;
    frame = word(frame + kPreviousOfFrame);
  }
  return PythonLayout{symbols_.runtime + kThread, kCframe, kFrame, kCodeOfFrame, kPreviousOfFrame, kInstructionOfFrame};
}

const PythonCode* PythonCodes::get(Process process, std::uint64_t address, PythonReader* reader) {
  if (!processes_.contains(process) && processes_.size() >= kMaxProcesses) processes_.erase(processes_.begin());
  auto& codes = processes_[process];
  auto now = reader != nullptr ? reader->code_at(address) : std::nullopt;
  const auto known = codes.find(address);
  if (!now) return known == codes.end() ? nullptr : &known->second;
  if (known == codes.end() && codes.size() >= kMaxCodes) codes.clear();
  return &(codes[address] = std::move(*now));
}

}  // namespace oomw::growth
