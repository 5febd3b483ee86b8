// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memory/address_space.h"
#include "runtimes/native/composition.h"
#include "runtimes/v8/constants.h"
#include "runtimes/v8/shapes.h"

namespace oomw::v8 {

// Bytes of an object by its head: its first four words. nullopt: no size that an object can have.
[[nodiscard]] std::optional<std::uint64_t> object_bytes(const Constants& constants, const Shape& shape,
                                                        std::span<const std::uint64_t> head);

// Where the page that begins at `begin` ends by its description, the first words of its head (Node 18 to 22) or of what
// its head points to (24): where the objects in it begin and end. 0: it is none.
[[nodiscard]] std::uint64_t page_end(std::uint64_t begin, std::span<const std::uint64_t> description);

// What was counted of one shape, with some objects for a closer look.
struct ShapeAmount {
  static constexpr std::size_t kSamples = 8;
  std::uint64_t count = 0, bytes = 0;
  std::array<std::uint64_t, kSamples> samples{};  // the first min(count, kSamples); addresses
};

// Counts the objects of a heap by shape: a word that points to a map begins an object. A block is V8's if at least half
// of what is present of it are objects and free space. Others are V8's pages, too, if their heads say so: what a
// collection moved away from, and what is not swept yet.
class Census final : public native::RangeOwner {
 public:
  // Sums of objects that are less than this share of the pages that they lie in are not to be trusted.
  static constexpr double kTrusted = 0.85;
  static constexpr std::size_t kMaxBuffers = 128u << 10;

  Census(const AddressSpace& space, const Constants& constants, const Shapes& shapes)
      : space_(space), constants_(constants), shapes_(shapes), amounts_(shapes.all().size()) {}

  [[nodiscard]] Result<> walk(std::span<const PageRange> blocks);

  [[nodiscard]] std::uint64_t claim(std::uint64_t begin, std::uint64_t end) const override;
  [[nodiscard]] std::uint64_t next(std::uint64_t begin, std::uint64_t end) const override;

  [[nodiscard]] const std::vector<ShapeAmount>& amounts() const { return amounts_; }  // by number of the shape
  [[nodiscard]] std::uint64_t page_bytes() const { return page_bytes_; }              // present, of V8's blocks
  [[nodiscard]] std::uint64_t object_bytes_sum() const { return object_bytes_; }
  [[nodiscard]] std::uint64_t free_bytes() const { return free_bytes_; }
  [[nodiscard]] std::uint64_t other_bytes() const { return other_bytes_; }  // of pages without objects that count
  [[nodiscard]] bool is_trusted() const;
  // Memory of ArrayBuffers outside the heap: what is present of it, each byte once.
  [[nodiscard]] std::uint64_t buffer_bytes() const { return buffer_bytes_; }
  [[nodiscard]] std::uint64_t buffers() const { return buffer_count_; }

 private:
  struct Found {
    std::uint64_t address = 0, bytes = 0;
    std::uint32_t shape = 0;
  };
  struct Buffer {
    std::uint64_t begin = 0, end = 0;
  };

  void walk_block(PageRange block, std::span<const std::uint64_t> words);
  [[nodiscard]] std::size_t take_object(PageRange block, std::span<const std::uint64_t> words, std::size_t at,
                                        std::uint32_t shape);
  [[nodiscard]] bool take_large(PageRange block, std::uint64_t address, std::uint64_t bytes, std::uint32_t shape);
  [[nodiscard]] bool keep(PageRange block);
  void keep_by_head(PageRange block, std::span<const std::uint64_t> words);
  void note_buffer(std::span<const std::uint64_t> object);
  void count(const Found& found);
  void sum_buffers();

  const AddressSpace& space_;
  const Constants& constants_;
  const Shapes& shapes_;
  std::vector<ShapeAmount> amounts_;
  std::vector<Found> found_;  // of the block at hand
  std::vector<Buffer> pending_buffers_, buffers_list_;
  std::vector<PageRange> ranges_;
  PageRange large_;
  std::uint64_t block_free_ = 0;
  std::uint64_t page_bytes_ = 0, object_bytes_ = 0, free_bytes_ = 0, buffer_bytes_ = 0, buffer_count_ = 0;
  std::uint64_t other_bytes_ = 0;
  std::uint64_t random_ = 0x9E3779B97F4A7C15ull;
};

}  // namespace oomw::v8
