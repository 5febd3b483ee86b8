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
#include "runtimes/v8/heap_pages.h"
#include "runtimes/v8/map_search.h"
#include "runtimes/v8/noted_objects.h"
#include "runtimes/v8/shapes.h"

namespace oomw::v8 {

// Bytes of an object by its head: its first four words. nullopt: no size that an object can have.
[[nodiscard]] std::optional<std::uint64_t> object_bytes(const Constants& constants, const Shape& shape,
                                                        std::span<const std::uint64_t> head);

// What was counted of one shape, with some objects for a closer look.
struct ShapeAmount {
  static constexpr std::size_t kSamples = 8;
  std::uint32_t shape = 0;
  std::uint64_t count = 0, bytes = 0;
  std::array<std::uint64_t, kSamples> samples{};  // the first min(count, kSamples); addresses
};

// Finds the amount of a shape in a list that has few of all shapes, in the order in which they were met.
class ShapePlaces {
 public:
  template <typename Amount>
  [[nodiscard]] Amount& in(std::vector<Amount>& amounts, std::uint32_t shape) {
    if (shape >= places_.size()) places_.resize(shape + 1);
    std::uint32_t& place = places_[shape];
    if (place >= amounts.size() || amounts[place].shape != shape) {
      place = static_cast<std::uint32_t>(amounts.size());
      amounts.push_back({shape});
    }
    return amounts[place];
  }

 private:
  std::vector<std::uint32_t> places_;  // by shape; also those of other lists
};

// What was counted in one page of a sample.
struct SampledPage {
  struct Amount {
    std::uint32_t shape = 0, count = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<Amount> amounts;  // one of each shape
  std::uint64_t free_bytes = 0, other_bytes = 0;
  std::uint64_t buffer_bytes = 0;  // memory of its ArrayBuffers outside the heap: what is present of it
};

// Counts the objects of a heap by shape: a word that points to a map begins an object. A block is V8's if at least half
// of what is present of it are objects and free space. Others are V8's pages, too, if their heads say so: what a
// collection moved away from, and what is not swept yet.
class Census final : public native::RangeOwner {
 public:
  // Sums of objects that are less than this share of the pages that they lie in are not to be trusted.
  static constexpr double kTrusted = 0.85;
  static constexpr std::size_t kMaxBuffers = 128u << 10;
  static constexpr std::size_t kMaxSampledAmounts = 1u << 20;  // of shapes in pages

  Census(const AddressSpace& space, const Constants& constants, MapSearch& maps)
      : space_(space), constants_(constants), maps_(maps) {}

  [[nodiscard]] Result<> walk(std::span<const PageRange> blocks);
  // Some pages: each is counted by itself, too, and of large ones only the head of their object is read. What cannot be
  // explained is not searched for elsewhere. kLimit, kUnavailable: they cannot be counted so.
  [[nodiscard]] Result<> walk_sample(std::span<const HeapPage> pages);

  [[nodiscard]] std::uint64_t claim(std::uint64_t begin, std::uint64_t end) const override;
  [[nodiscard]] std::uint64_t next(std::uint64_t begin, std::uint64_t end) const override;

  [[nodiscard]] const std::vector<ShapeAmount>& amounts() const { return sums_.amounts; }  // one of each shape
  [[nodiscard]] std::uint64_t page_bytes() const { return sums_.page_bytes; }              // present, of V8's blocks
  [[nodiscard]] std::uint64_t object_bytes_sum() const { return sums_.object_bytes; }
  [[nodiscard]] std::uint64_t free_bytes() const { return sums_.free_bytes; }
  [[nodiscard]] std::uint64_t other_bytes() const { return sums_.other_bytes; }  // of pages without objects that count
  [[nodiscard]] bool is_trusted() const;
  [[nodiscard]] const std::vector<SampledPage>& sampled() const { return sums_.sampled; }
  [[nodiscard]] const SampledPage& large() const { return sums_.large_objects; }  // of a sample: all that there are
  // Memory of ArrayBuffers outside the heap: what is present of it, each byte once.
  [[nodiscard]] std::uint64_t buffer_bytes() const { return sums_.buffer_bytes; }
  [[nodiscard]] std::uint64_t buffers() const { return sums_.buffer_count; }
  // Of a walk over everything only.
  [[nodiscard]] const NotedObjects& noted() const { return sums_.noted; }

 private:
  struct Found {
    std::uint64_t address = 0, bytes = 0;
    std::uint32_t shape = 0;
  };
  struct Buffer {
    std::uint64_t begin = 0, end = 0;
  };

  // Of all blocks; a new one for each attempt.
  struct Sums {
    // In the order in which the shapes were met: most are of a few objects that lie together.
    std::vector<ShapeAmount> amounts;
    std::vector<Buffer> buffers;
    std::vector<PageRange> ranges;
    PageRange large;
    NotedObjects noted;
    std::vector<SampledPage> sampled;
    SampledPage large_objects;
    std::size_t sampled_amounts = 0;
    std::uint64_t page_bytes = 0, object_bytes = 0, free_bytes = 0, buffer_bytes = 0, buffer_count = 0, other_bytes = 0;
    std::uint64_t random = 0x9E3779B97F4A7C15ull;
  };

  // False: a map of maps was found meanwhile.
  [[nodiscard]] Result<bool> walk_all(std::span<const PageRange> blocks);
  void find_objects(PageRange block, std::span<const std::uint64_t> words);
  [[nodiscard]] std::size_t take_object(PageRange block, std::span<const std::uint64_t> words, std::size_t at,
                                        const Shape& shape);
  [[nodiscard]] bool take_large(PageRange block, std::uint64_t address, std::uint64_t bytes, std::uint32_t shape);
  [[nodiscard]] bool keep(PageRange block);
  void note_objects(PageRange block, std::span<const std::uint64_t> words);
  void keep_by_head(PageRange block, std::span<const std::uint64_t> words);
  void sample_block(PageRange block, std::span<const std::uint64_t> words);
  void sample_large(const HeapPage& page);
  void add_to(SampledPage& page, const Found& found);
  [[nodiscard]] Result<bool> walk_pages(std::span<const HeapPage> pages);
  void note_buffer(std::span<const std::uint64_t> object);
  void count(const Found& found);
  void sum_buffers();

  const AddressSpace& space_;
  const Constants& constants_;
  MapSearch& maps_;
  Sums sums_;
  std::vector<Found> found_;  // of the block at hand
  std::vector<Buffer> pending_buffers_;
  ShapePlaces places_, places_in_page_;
  std::uint64_t block_free_ = 0;
  bool is_whole_ = false;  // all of the block is present
  struct {
    std::size_t at = 0;
    Shape shape;
  } next_;  // what the word behind the last object was found to be
};

}  // namespace oomw::v8
