// SPDX-License-Identifier: Apache-2.0
#include "elf/eh_frame.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>

#include "elf/cfi_program.h"
#include "elf/dwarf_cursor.h"

namespace oomw::elf {
namespace {

// What a CIE says for its functions.
struct Common {
  std::uint64_t code_factor = 0;
  std::int64_t data_factor = 0;
  std::uint8_t encoding = 0;  // of addresses
  bool has_augmentation = false, is_signal_frame = false;
  std::vector<std::uint8_t> instructions;
};

struct Entry {
  std::vector<std::uint8_t> bytes;  // behind the length
  std::uint32_t id = 0;             // 0: a CIE; else how far its CIE is before this field
};

Result<Entry> read_entry(const File& file, std::uint64_t address) {
  ASSIGN_OR_RETURN(const std::uint32_t size, file.get_at<std::uint32_t>(address));
  if (size < sizeof(std::uint32_t) || size > EhFrame::kMaxEntryBytes) {
    return fail(ErrorCode::kInvalid, "an entry of .eh_frame of " + std::to_string(size) + " B");
  }
  Entry entry;
  entry.bytes.resize(size);
  RETURN_IF_ERROR(file.read_at(address + sizeof size, std::as_writable_bytes(std::span(entry.bytes))));
  entry.id = DwarfCursor(entry.bytes).number<std::uint32_t>();
  return entry;
}

// The letters behind 'z' say what stands in the augmentation's data.
void read_augmentation(std::string_view letters, DwarfCursor& in, Common& common) {
  for (const char letter : letters) {
    if (letter == 'R') {
      common.encoding = in.byte();
    } else if (letter == 'P') {
      const std::uint8_t encoding = in.byte();
      (void)in.pointer(encoding & 0x0f, 0, 0);
    } else if (letter == 'L') {
      in.skip(1);
    } else if (letter == 'S') {
      common.is_signal_frame = true;
    } else {
      return;
    }
  }
}

Result<Common> read_common(const File& file, std::uint64_t address) {
  ASSIGN_OR_RETURN(const Entry entry, read_entry(file, address));
  if (entry.id != 0) return fail(ErrorCode::kInvalid, "no CIE where one should be");
  DwarfCursor in(entry.bytes);
  in.skip(sizeof entry.id);
  const std::uint8_t version = in.byte();
  const std::string_view augmentation = in.text();
  Common common;
  common.code_factor = in.uleb();
  common.data_factor = in.sleb();
  const std::uint64_t return_register = version == 1 ? in.byte() : in.uleb();
  if (augmentation.starts_with('z')) {
    common.has_augmentation = true;
    DwarfCursor data(in.take(in.uleb()));
    read_augmentation(augmentation.substr(1), data, common);
    if (!data.is_good()) return fail(ErrorCode::kInvalid, "the augmentation of a CIE");
  } else if (!augmentation.empty()) {
    return fail(ErrorCode::kUnsupported, "a CIE of an unknown kind");
  }
  if (!in.is_good() || return_register != kIp) return fail(ErrorCode::kInvalid, "the head of a CIE");
  common.instructions.assign(entry.bytes.begin() + static_cast<std::ptrdiff_t>(in.position()), entry.bytes.end());
  return common;
}

std::uint64_t common_of(std::uint64_t entry, std::uint32_t id) { return entry + sizeof(std::uint32_t) - id; }

// Where the functions of an index begin. Most follow the same CIE; a file in which they do not could make us read 64
// KiB for each 12 bytes.
class FirstInstructions {
 public:
  explicit FirstInstructions(const File& file) : file_(file) {}

  std::optional<std::uint64_t> of(std::uint64_t entry) {
    const auto fde = read_entry(file_, entry);
    if (!fde || fde->id == 0) return std::nullopt;
    const std::uint64_t place = common_of(entry, fde->id);
    if (place != common_place_) {
      const auto common = read_common(file_, place);
      bytes_ += common ? common->instructions.size() + 64 : 64;
      if (!common) return std::nullopt;
      encoding_ = common->encoding;
      common_place_ = place;
    }
    DwarfCursor in(fde->bytes);
    in.skip(sizeof fde->id);
    const std::uint64_t first = in.pointer(encoding_, entry + sizeof(std::uint32_t), 0);
    return in.is_good() ? std::optional(first) : std::nullopt;
  }
  [[nodiscard]] bool may_go_on() const { return bytes_ < EhFrame::kMaxIndexedBytes; }

 private:
  const File& file_;
  std::uint8_t encoding_ = 0;
  std::uint64_t common_place_ = std::numeric_limits<std::uint64_t>::max(), bytes_ = 0;
};

}  // namespace

EhFrame::EhFrame(const File& file) : file_(file) {
  const Section* header = file.find_section(".eh_frame_hdr");
  if (header == nullptr || !load_header(header->address, header->size)) build_index();
}

// Only the form that linkers write: addresses of four bytes relative to the header.
bool EhFrame::load_header(std::uint64_t address, std::uint64_t size) {
  constexpr std::array<std::uint8_t, 4> kForm = {1, 0x1b, 0x03, 0x3b};
  const auto form = file_.get_at<std::array<std::uint8_t, 4>>(address);
  const auto count = file_.get_at<std::uint32_t>(address + 8);
  if (!form || *form != kForm || !count || size < 12 || *count > (size - 12) / 8) return false;
  header_ = address;
  table_entries_ = *count;
  return *count > 0;
}

void EhFrame::build_index() {
  const Section* section = file_.find_section(".eh_frame");
  if (section == nullptr || section->type == SHT_NOBITS) return;
  const std::uint64_t size = std::min(section->size, kMaxIndexedBytes);
  FirstInstructions first(file_);
  for (std::uint64_t offset = 0; offset + 8 <= size && index_.size() < kMaxIndex && first.may_go_on();) {
    const std::uint64_t entry = section->address + offset;
    const auto bytes = file_.get_at<std::uint32_t>(entry);
    if (!bytes || *bytes < sizeof(std::uint32_t) || *bytes > size - offset) break;
    if (const auto address = first.of(entry)) index_.emplace_back(*address, entry);
    offset += sizeof(std::uint32_t) + *bytes;
  }
  std::ranges::sort(index_);
}

Result<std::uint64_t> EhFrame::search_table(std::uint64_t address) const {
  const std::uint64_t table = header_ + 12;
  const auto at = [&](std::uint64_t place) -> Result<std::uint64_t> {
    ASSIGN_OR_RETURN(const std::int32_t offset, file_.get_at<std::int32_t>(place));
    return header_ + static_cast<std::uint64_t>(std::int64_t{offset});
  };
  std::uint32_t low = 0, high = table_entries_;  // the last entry that does not begin after it is in [low, high)
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    ASSIGN_OR_RETURN(const std::uint64_t begin, at(table + std::uint64_t{8} * middle));
    (begin <= address ? low : high) = middle;
  }
  return at(table + std::uint64_t{8} * low + 4);
}

Result<std::uint64_t> EhFrame::entry_of(std::uint64_t address) const {
  if (table_entries_ > 0) return search_table(address);
  const auto after = std::ranges::upper_bound(index_, address, {}, [](const auto& one) { return one.first; });
  if (after == index_.begin()) return fail(ErrorCode::kNotFound, "no unwinding entry");
  return std::prev(after)->second;
}

Result<CfiRow> EhFrame::row(std::uint64_t address) const {
  if (is_empty()) return fail(ErrorCode::kNotFound, "no unwinding tables");
  ASSIGN_OR_RETURN(const std::uint64_t place, entry_of(address));
  ASSIGN_OR_RETURN(const Entry entry, read_entry(file_, place));
  if (entry.id == 0) return fail(ErrorCode::kInvalid, "a CIE where a function's entry should be");
  ASSIGN_OR_RETURN(const Common common, read_common(file_, common_of(place, entry.id)));
  DwarfCursor in(entry.bytes);
  in.skip(sizeof entry.id);
  const std::uint64_t begin = in.pointer(common.encoding, place + sizeof(std::uint32_t), header_);
  const std::uint64_t size = in.pointer(common.encoding & 0x0f, 0, 0);
  if (common.has_augmentation) in.skip(in.uleb());
  if (!in.is_good()) return fail(ErrorCode::kInvalid, "the head of an unwinding entry");
  if (address < begin || address - begin >= size) return fail(ErrorCode::kNotFound, "no unwinding entry");
  CfiProgram program(common.code_factor, common.data_factor);
  if (!program.run(common.instructions, begin, std::numeric_limits<std::uint64_t>::max())) {
    return fail(ErrorCode::kInvalid, "unwinding instructions");
  }
  program.end_of_common();
  if (!program.run(std::span(entry.bytes).subspan(in.position()), begin, address)) {
    return fail(ErrorCode::kInvalid, "unwinding instructions");
  }
  program.row.function = begin;
  program.row.function_bytes = size;
  program.row.is_signal_frame = common.is_signal_frame;
  return std::move(program.row);
}

}  // namespace oomw::elf
