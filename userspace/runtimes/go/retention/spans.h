// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "memory/cached_reader.h"
#include "runtimes/go/retention/image.h"

namespace oomw::go::retention {

inline constexpr std::uint64_t kGoPageBytes = 8192;
inline constexpr std::uint64_t kLargestInSpan = 512;  // bytes of the objects whose bitmap lies in the span

// One run of pages of the heap, cut into slots of one size. From an mspan that verified.
struct Span {
  std::uint64_t start = 0, slot_bytes = 0;
  std::uint64_t large_type = 0;  // *_type of a large object; 0 if none is stored
  std::uint64_t specials = 0;    // head of the list of records about its objects
  std::uint32_t pages = 0, slots = 0, free_index = 0;
  std::uint32_t bits = 0;  // where its allocation bits begin
  std::uint8_t span_class = 0;

  [[nodiscard]] bool has_pointers() const { return (span_class & 1) == 0; }
  [[nodiscard]] bool is_large() const { return span_class >> 1 == 0; }
  [[nodiscard]] std::uint64_t bytes() const { return pages * kGoPageBytes; }
  [[nodiscard]] std::uint64_t end() const { return start + bytes(); }
};

// Where an mspan keeps what we need. Chosen by what verifies, not by Go's version.
struct SpanLayout {
  std::string_view name;
  std::size_t slots, slots_bytes, alloc_bits, span_class, state, slot_bytes, limit, specials;
  std::size_t large_type;  // 0: none
  bool has_type_headers;   // pointer bitmaps and types lie in the spans (Go 1.22)
};

struct ObjectAt {
  std::uint32_t span = 0;
  std::uint64_t base = 0;  // of its slot
};

// The heap's spans, sorted, at one moment.
//
// - Each has proved itself: alignment, counts and limit agree. A list of which 2 % do not, or of which spans overlap,
// is
//   refused: it is not the heap's list, or a forged one.
// - At most 256 Ki spans, 8 GiB of addresses and 24 MiB of memory.
class SpanTable {
 public:
  static constexpr std::size_t kMaxSpans = 256U << 10;
  static constexpr std::uint64_t kMaxRange = std::uint64_t{8} << 30;

  // Where the list of all spans lies: behind &mheap_, which the runtime's own initialisation code names.
  struct Location {
    std::uint64_t list = 0;  // address of the slice
    const SpanLayout* layout = nullptr;
    // The part of mheap_ up to the list and a little behind it: words there are addresses of pages where the heap ends
    // or is searched on (pages.searchAddr, curArena), and keep nothing. All versions have 8 KiB of mheap_ behind it.
    elf::AddressRange heap_struct;
  };
  [[nodiscard]] static Result<Location> locate(Image& image, CachedReader& memory);
  [[nodiscard]] static Result<SpanTable> read(const Location& location, CachedReader& memory);

  [[nodiscard]] const std::vector<Span>& spans() const { return spans_; }
  [[nodiscard]] const Span& span(std::uint32_t index) const { return spans_[index]; }
  [[nodiscard]] const SpanLayout& layout() const { return *layout_; }
  // Words of the runtime that look like references to objects and are none.
  [[nodiscard]] const elf::AddressRange& heap_struct() const { return heap_struct_; }
  [[nodiscard]] std::uint64_t low() const { return low_; }
  [[nodiscard]] std::uint64_t size() const { return high_ - low_; }
  [[nodiscard]] std::uint64_t bytes_in_use() const;

  [[nodiscard]] const Span* span_at(std::uint64_t address) const;
  [[nodiscard]] std::optional<ObjectAt> object_at(std::uint64_t address) const;
  [[nodiscard]] bool is_free(const Span& span, std::uint64_t base) const;
  // Bytes in front of an object's own data: the type of a small object of more than 512 bytes.
  [[nodiscard]] std::uint64_t header_bytes(const Span& span) const {
    const bool has_type = layout_->has_type_headers && span.has_pointers() && span.slot_bytes > kLargestInSpan;
    return has_type && !span.is_large() ? 8 : 0;
  }

 private:
  [[nodiscard]] Result<> index();

  const SpanLayout* layout_ = nullptr;
  elf::AddressRange heap_struct_;
  std::vector<Span> spans_;
  std::vector<std::uint8_t> bits_;
  std::vector<std::uint32_t> pages_;  // page -> span + 1
  std::uint64_t low_ = 0, high_ = 0;
};

}  // namespace oomw::go::retention
