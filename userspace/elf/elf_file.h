// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "memory/cached_reader.h"

namespace oomw::elf {

inline constexpr std::size_t kFileBlockBytes = 32U << 10;  // of an executable, read at once

enum class Machine { kAmd64, kArm64 };

// A half-open range of link-time addresses.
struct AddressRange {
  std::uint64_t begin = 0, end = 0;
  [[nodiscard]] bool contains(std::uint64_t address) const { return address >= begin && address < end; }
  [[nodiscard]] std::uint64_t size() const { return end - begin; }
};

struct Section {
  std::string name;
  std::uint32_t type = 0;
  std::uint64_t flags = 0;
  std::uint64_t address = 0, offset = 0, size = 0;
  std::uint32_t link = 0;
  std::uint64_t entry_size = 0;
  [[nodiscard]] AddressRange addresses() const { return {address, address + size}; }
  [[nodiscard]] bool has_file_bytes() const;  // false for .bss and the like
};

struct Segment {
  std::uint64_t address = 0, offset = 0, file_size = 0, memory_size = 0;
  std::uint32_t flags = 0;  // PF_*
};

// The parts of a 64-bit little-endian ELF file that finding Go's data needs.
//
// - Reads the header, program headers, section headers and their names; nothing else until asked.
// - Every offset and size is checked for overflow; inconsistent sections and segments are dropped (counted in
//   `malformed`), never followed. At most kMaxSections and kMaxSegments.
// - 32-bit, big-endian and machines other than amd64 and arm64 are kUnsupported; not ELF is
//   kInvalid; both after the first 64 bytes.
// Borrows the reader, which must outlive it.
class File {
 public:
  static constexpr std::size_t kMaxSections = 4096, kMaxSegments = 256;

  [[nodiscard]] static Result<File> open(CachedReader& reader);

  [[nodiscard]] Machine machine() const { return machine_; }
  [[nodiscard]] bool is_position_independent() const { return is_position_independent_; }
  [[nodiscard]] std::uint64_t entry() const { return entry_; }
  [[nodiscard]] const std::vector<Section>& sections() const { return sections_; }
  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }  // PT_LOAD
  [[nodiscard]] std::size_t malformed() const { return malformed_; }

  [[nodiscard]] const Section* find_section(std::string_view name) const;
  // File offset of a link-time address; nothing for .bss.
  [[nodiscard]] std::optional<std::uint64_t> offset_of(std::uint64_t address) const;

  // Reads `out.size()` bytes at a link-time address from the file.
  [[nodiscard]] Result<> read_at(std::uint64_t address, std::span<std::byte> out) const;
  template <typename T>
  [[nodiscard]] Result<T> get_at(std::uint64_t address) const {
    T value;
    RETURN_IF_ERROR(read_at(address, std::as_writable_bytes(std::span<T, 1>(&value, 1))));
    return value;
  }

  [[nodiscard]] CachedReader& reader() const { return *reader_; }

 private:
  explicit File(CachedReader& reader) : reader_(&reader) {}

  [[nodiscard]] Result<> load_segments(std::uint64_t offset, std::uint16_t entry_size, std::uint32_t count);
  [[nodiscard]] Result<> load_sections(std::uint64_t offset, std::uint16_t entry_size, std::uint64_t count,
                                       std::uint32_t names_index);

  CachedReader* reader_;
  Machine machine_ = Machine::kAmd64;
  bool is_position_independent_ = false;
  std::uint64_t entry_ = 0;
  std::vector<Section> sections_;
  std::vector<Segment> segments_;
  std::size_t malformed_ = 0;
};

inline constexpr std::size_t kMaxNote = 128;

// The description of a note section that holds one note, at most kMaxNote bytes.
[[nodiscard]] std::optional<std::vector<std::byte>> note_of(const File& elf, const char* section_name);
// What the linker calls this very build, in lower-case hex, by which debuggers and debuginfod find its symbols; "" if
// it has none.
[[nodiscard]] std::string gnu_build_id(const File& elf);

}  // namespace oomw::elf
