// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/pclntab.h"

#include <algorithm>
#include <cstring>

namespace oomw::go {

namespace {

constexpr std::uint32_t kMagic12 = 0xfffffffb, kMagic116 = 0xfffffffa, kMagic118 = 0xfffffff0, kMagic120 = 0xfffffff1;
constexpr std::uint64_t kNameChunk = 64U << 10;
constexpr int kMaxPcSteps = 1 << 20;  // a pc-value program moves forward by at least one instruction per step

// On disk at the start of the table (64-bit).
struct Header {
  std::uint32_t magic;
  std::uint8_t pad1, pad2, min_instruction_bytes, pointer_bytes;
  std::uint64_t function_count, file_count, text_start, names, units, files, pc_values, functions;
};
static_assert(sizeof(Header) == 72);

// The fixed part of a function's record; startLine follows it from magic 0xfffffff1 on.
struct RawFunction {
  std::uint32_t entry, name, args, deferreturn, pcsp, pcfile, pcln, npcdata, unit;
};
static_assert(sizeof(RawFunction) == 36);

// What follows that, in cmd/internal/objabi's and internal/abi's words since Go 1.18.
struct RawTail {
  std::uint8_t function_id, flags, pad, funcdata_count;
};
constexpr std::uint8_t kTopFrame = 1, kWritesStackPointer = 2;

Result<> check_header(const Header& header) {
  if (header.magic == kMagic12 || header.magic == kMagic116) {
    return fail(ErrorCode::kUnsupported, "function table of Go 1.17 or older");
  }
  if (header.magic != kMagic118 && header.magic != kMagic120) return fail(ErrorCode::kInvalid, "no function table");
  if (header.pad1 != 0 || header.pad2 != 0 || header.pointer_bytes != 8 ||
      (header.min_instruction_bytes != 1 && header.min_instruction_bytes != 4)) {
    return fail(ErrorCode::kInvalid, "function table header");
  }
  if (header.function_count == 0 || header.function_count > Pclntab::kMaxFunctions) {
    return fail(ErrorCode::kInvalid, std::to_string(header.function_count) + " functions in the function table");
  }
  return {};
}

// Little-endian base-128, at most 5 bytes; false if it does not end.
bool take_varint(std::span<const std::byte>& bytes, std::uint32_t& value) {
  value = 0;
  for (int shift = 0; shift < 35 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<std::uint32_t>(bytes.front());
    bytes = bytes.subspan(1);
    value |= (byte & 0x7f) << (shift & 31);
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

std::int32_t zigzag(std::uint32_t v) { return static_cast<std::int32_t>((v >> 1) ^ (0U - (v & 1))); }

}  // namespace

template <typename T>
Result<T> Pclntab::get(std::uint64_t offset) const {
  if (offset > size_ || size_ - offset < sizeof(T)) return fail(ErrorCode::kInvalid, "function table offset");
  return elf_->reader().get<T>(file_offset_ + offset);
}

Result<Pclntab> Pclntab::parse(const elf::File& elf, std::uint64_t address, std::uint64_t size) {
  Pclntab table(elf);
  const auto offset = elf.offset_of(address);
  if (!offset) return fail(ErrorCode::kInvalid, "function table outside the file");
  table.address_ = address;
  table.file_offset_ = *offset;
  table.size_ = size;
  ASSIGN_OR_RETURN(const auto header, table.get<Header>(0));
  RETURN_IF_ERROR(check_header(header));
  table.has_start_line_ = header.magic == kMagic120;
  table.min_instruction_bytes_ = header.min_instruction_bytes;
  table.function_count_ = static_cast<std::uint32_t>(header.function_count);
  table.text_start_ = header.text_start;
  table.names_ = header.names;
  table.units_ = header.units;
  table.files_ = header.files;
  table.pc_values_ = header.pc_values;
  table.functions_ = header.functions;
  RETURN_IF_ERROR(table.check_offsets());
  return table;
}

Result<> Pclntab::check_offsets() const {
  const bool ordered = sizeof(Header) <= names_ && names_ < units_ && units_ <= files_ && files_ < pc_values_ &&
                       pc_values_ < functions_ && functions_ < size_;
  if (!ordered) return fail(ErrorCode::kInvalid, "function table offsets");
  RETURN_IF_ERROR(entry_of(function_count_));  // the end marker: the whole index is there
  return {};
}

namespace {

// Where a table without a section of its name may lie: the read-only and relocated data.
bool may_hold_table(const elf::Segment& segment) { return segment.file_size > sizeof(Header); }

// Places where a table seems to begin and does not: by chance there are a few in a large program.
constexpr std::uint32_t kMaxFalseStarts = 4096;

// Segments share a page of the file at their ends, at most 64 KiB. One that shows again what was searched is no
// linker's: 250 of them made a file of 2 MiB cost 9 s.
class SearchedRanges {
 public:
  // False: much of the segment was searched before.
  [[nodiscard]] bool add(const elf::Segment& segment) {
    std::uint64_t shared = 0;
    for (const elf::Segment& earlier : searched_) {
      const std::uint64_t begin = std::max(earlier.offset, segment.offset);
      const std::uint64_t end = std::min(earlier.offset + earlier.file_size, segment.offset + segment.file_size);
      shared += end > begin ? end - begin : 0;
    }
    searched_.push_back(segment);
    return shared <= kMaxShared;
  }

 private:
  static constexpr std::uint64_t kMaxShared = 128U << 10;  // one page at either end
  std::vector<elf::Segment> searched_;
};

// Searches one segment for a header that parses. Reads at most the segment's file bytes once.
std::optional<Pclntab> search_segment(const elf::File& elf, const elf::Segment& segment, std::uint32_t& false_starts) {
  std::vector<std::byte> chunk(CachedReader::kBlockBytes);
  for (std::uint64_t done = 0; done < segment.file_size; done += chunk.size()) {
    const std::uint64_t want = std::min<std::uint64_t>(chunk.size(), segment.file_size - done);
    const auto n = elf.reader().read_some(segment.offset + done, std::span(chunk).first(want));
    if (!n.has_value() || *n == 0) return std::nullopt;
    // Linkers align the table to at least a pointer.
    for (std::size_t i = (8 - (segment.address + done) % 8) % 8; i + 8 <= *n; i += 8) {
      std::uint32_t magic;
      std::memcpy(&magic, chunk.data() + i, sizeof(magic));
      if (magic != kMagic118 && magic != kMagic120) continue;
      auto table = Pclntab::parse(elf, segment.address + done + i, segment.file_size - done - i);
      if (table.has_value()) return *table;
      if (++false_starts > kMaxFalseStarts) return std::nullopt;
    }
  }
  return std::nullopt;
}

bool is_probably_go(const elf::File& elf) {
  return elf.sections().empty() || elf.find_section(".go.buildinfo") || elf.find_section(".note.go.buildid");
}

}  // namespace

Result<Pclntab> Pclntab::find(const elf::File& elf) {
  for (const char* name : {".gopclntab", ".data.rel.ro.gopclntab"}) {
    if (const elf::Section* section = elf.find_section(name)) return parse(elf, section->address, section->size);
  }
  if (!is_probably_go(elf)) return fail(ErrorCode::kNotFound, "not a Go binary");
  SearchedRanges searched;
  std::uint32_t false_starts = 0;
  for (const elf::Segment& segment : elf.segments()) {
    if (!may_hold_table(segment) || !searched.add(segment)) continue;
    if (auto table = search_segment(elf, segment, false_starts)) return *table;
    if (false_starts > kMaxFalseStarts) return fail(ErrorCode::kLimit, "too much looks like a function table");
  }
  return fail(ErrorCode::kNotFound, "no function table");
}

Result<std::uint32_t> Pclntab::entry_of(std::uint32_t index) const {
  return get<std::uint32_t>(functions_ + std::uint64_t{index} * 8);
}

Result<FunctionRecord> Pclntab::function(std::uint32_t index) const {
  if (index >= function_count_) return fail(ErrorCode::kInvalid, "function index");
  struct Index {
    std::uint32_t entry, record, next_entry;
  };
  ASSIGN_OR_RETURN(const auto at, get<Index>(functions_ + std::uint64_t{index} * 8));
  FunctionRecord function;
  function.entry = at.entry;
  function.end = at.next_entry;
  function.record_offset = functions_ + at.record;
  ASSIGN_OR_RETURN(const auto raw, get<RawFunction>(function.record_offset));
  if (raw.entry != at.entry || at.next_entry < at.entry) return fail(ErrorCode::kInvalid, "function table order");
  function.name_offset = raw.name;
  function.stack_table = raw.pcsp;
  function.file_table = raw.pcfile;
  function.line_table = raw.pcln;
  function.unit_offset = raw.unit;
  function.pcdata_count = raw.npcdata;
  ASSIGN_OR_RETURN(const auto tail,
                   get<RawTail>(function.record_offset + sizeof(RawFunction) + (has_start_line_ ? 4 : 0)));
  function.funcdata_count = tail.funcdata_count;
  function.is_outermost = (tail.flags & kTopFrame) != 0;
  function.switches_stack = (tail.flags & kWritesStackPointer) != 0;
  return function;
}

Result<FunctionRecord> Pclntab::function_at(std::uint64_t code_offset) const {
  std::uint32_t low = 0, high = function_count_;  // low's entry <= code_offset < high's entry
  ASSIGN_OR_RETURN(const std::uint32_t first, entry_of(0));
  ASSIGN_OR_RETURN(const std::uint32_t last, entry_of(function_count_));
  if (code_offset < first || code_offset >= last) return fail(ErrorCode::kNotFound, "outside Go's text");
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    ASSIGN_OR_RETURN(const std::uint32_t entry, entry_of(middle));
    (entry <= code_offset ? low : high) = middle;
  }
  return function(low);
}

namespace {

// Looks up each whole name of `text`; returns where the last, unfinished one begins.
std::size_t match_names(std::string_view text, std::uint64_t text_offset, std::span<const std::string_view> wanted,
                        std::vector<std::optional<std::uint32_t>>& offsets) {
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\0', begin)) != std::string_view::npos; begin = end + 1) {
    const std::string_view name = text.substr(begin, end - begin);
    const auto it = std::find(wanted.begin(), wanted.end(), name);
    if (it == wanted.end()) continue;
    auto& slot = offsets[static_cast<std::size_t>(it - wanted.begin())];
    if (!slot) slot = static_cast<std::uint32_t>(text_offset + begin);
  }
  return begin;
}

}  // namespace

Result<std::vector<std::optional<std::uint32_t>>> Pclntab::find_name_offsets(
    std::span<const std::string_view> names) const {
  std::vector<std::optional<std::uint32_t>> offsets(names.size());
  const auto is_missing = [&] { return std::find(offsets.begin(), offsets.end(), std::nullopt) != offsets.end(); };
  const std::uint64_t total = units_ - names_;
  std::string chunk;
  std::size_t kept = 0;  // the beginning of a name whose end is in the next chunk
  for (std::uint64_t done = 0; done < total && is_missing();) {
    const std::uint64_t want = std::min(kNameChunk, total - done);
    chunk.resize(kept + want);
    RETURN_IF_ERROR(elf_->reader().read(file_offset_ + names_ + done,
                                        std::as_writable_bytes(std::span(chunk.data() + kept, want))));
    const std::size_t tail = match_names(chunk, done - kept, names, offsets);
    done += want;
    kept = chunk.size() - tail;
    chunk.erase(0, tail);
    if (kept > kNameChunk) kept = 0;  // no name is that long: the table is damaged
  }
  return offsets;
}

Result<std::vector<std::optional<FunctionRecord>>> Pclntab::find_functions(
    std::span<const std::string_view> names) const {
  ASSIGN_OR_RETURN(const auto offsets, find_name_offsets(names));
  std::vector<std::optional<FunctionRecord>> found(names.size());
  auto missing = static_cast<std::size_t>(std::count_if(offsets.begin(), offsets.end(), [](auto o) { return !!o; }));
  for (std::uint32_t i = 0; i < function_count_ && missing > 0; ++i) {
    ASSIGN_OR_RETURN(const auto record, get<std::uint32_t>(functions_ + std::uint64_t{i} * 8 + 4));
    ASSIGN_OR_RETURN(const auto name, get<std::uint32_t>(functions_ + record + offsetof(RawFunction, name)));
    const auto it = std::find(offsets.begin(), offsets.end(), std::optional(name));
    if (it == offsets.end()) continue;
    auto& slot = found[static_cast<std::size_t>(it - offsets.begin())];
    if (slot) continue;
    ASSIGN_OR_RETURN(slot, function(i));
    --missing;
  }
  return found;
}

Result<std::string> Pclntab::name_at(std::uint32_t name_offset) const {
  if (name_offset >= units_ - names_) return fail(ErrorCode::kInvalid, "function name offset");
  const std::uint64_t room = units_ - names_ - name_offset;
  return elf_->reader().c_string(file_offset_ + names_ + name_offset, std::min<std::uint64_t>(room, kMaxName));
}

bool Pclntab::is_name_start(std::uint32_t name_offset) const {
  if (name_offset >= units_ - names_) return false;
  const auto byte = get<std::uint8_t>(names_ + name_offset);
  const auto before = name_offset == 0 ? Result<std::uint8_t>(0) : get<std::uint8_t>(names_ + name_offset - 1);
  return byte.has_value() && before.has_value() && *byte > ' ' && *before == 0;
}

Result<std::int32_t> Pclntab::pc_value(std::uint32_t program, const FunctionRecord& function,
                                       std::uint64_t code_offset) const {
  if (program == 0) return -1;
  std::int32_t value = -1;
  std::uint64_t pc = function.entry;
  std::uint64_t at = pc_values_ + program;
  for (int step = 0; step < kMaxPcSteps; ++step) {
    if (steps_left_ == 0) return fail(ErrorCode::kLimit, "the function table costs too much");
    --steps_left_;
    std::byte raw[10];  // two varints
    if (at >= functions_) break;
    const std::size_t room = std::min<std::uint64_t>(sizeof(raw), functions_ - at);
    RETURN_IF_ERROR(elf_->reader().read(file_offset_ + at, std::span(raw).first(room)));
    std::span<const std::byte> bytes(raw, room);
    std::uint32_t value_delta, pc_delta;
    if (!take_varint(bytes, value_delta) || (value_delta == 0 && step > 0) || !take_varint(bytes, pc_delta)) break;
    value =
        static_cast<std::int32_t>(static_cast<std::uint32_t>(value) + static_cast<std::uint32_t>(zigzag(value_delta)));
    pc += std::uint64_t{pc_delta} * min_instruction_bytes_;
    if (code_offset < pc) return value;
    if (pc >= function.end) break;
    at += room - bytes.size();
  }
  return fail(ErrorCode::kInvalid, "pc-value table does not cover the function");
}

Result<std::int32_t> Pclntab::line_at(const FunctionRecord& function, std::uint64_t code_offset) const {
  return pc_value(function.line_table, function, code_offset);
}

Result<std::uint32_t> Pclntab::stack_bytes_at(const FunctionRecord& function, std::uint64_t code_offset) const {
  ASSIGN_OR_RETURN(const std::int32_t bytes, pc_value(function.stack_table, function, code_offset));
  if (bytes < 0) return fail(ErrorCode::kInvalid, "a negative frame");
  return static_cast<std::uint32_t>(bytes);
}

Result<std::string> Pclntab::file_at(const FunctionRecord& function, std::uint64_t code_offset) const {
  ASSIGN_OR_RETURN(const std::int32_t number, pc_value(function.file_table, function, code_offset));
  if (number < 0) return fail(ErrorCode::kNotFound, "no file");
  const std::uint64_t slot = units_ + (std::uint64_t{function.unit_offset} + static_cast<std::uint32_t>(number)) * 4;
  if (slot >= files_) return fail(ErrorCode::kInvalid, "file number");
  ASSIGN_OR_RETURN(const auto offset, get<std::uint32_t>(slot));
  if (offset >= pc_values_ - files_) return fail(ErrorCode::kNotFound, "no file");
  const std::uint64_t room = pc_values_ - files_ - offset;
  return elf_->reader().c_string(file_offset_ + files_ + offset, std::min<std::uint64_t>(room, kMaxName));
}

Result<std::int32_t> Pclntab::pcdata_at(const FunctionRecord& function, std::uint32_t table,
                                        std::uint64_t code_offset) const {
  if (table >= function.pcdata_count) return -1;
  const std::uint64_t tail = function.record_offset + sizeof(RawFunction) + (has_start_line_ ? 8 : 4);
  ASSIGN_OR_RETURN(const auto program, get<std::uint32_t>(tail + std::uint64_t{table} * 4));
  return pc_value(program, function, code_offset);
}

std::optional<std::uint32_t> Pclntab::funcdata(const FunctionRecord& function, std::uint32_t table) const {
  if (table >= function.funcdata_count) return std::nullopt;
  const std::uint64_t tail = function.record_offset + sizeof(RawFunction) + (has_start_line_ ? 8 : 4);
  const auto offset = get<std::uint32_t>(tail + (std::uint64_t{function.pcdata_count} + table) * 4);
  if (!offset.has_value() || *offset == std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return *offset;
}

}  // namespace oomw::go
