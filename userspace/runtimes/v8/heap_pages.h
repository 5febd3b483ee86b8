// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memory/address_space.h"
#include "runtimes/native/composition.h"

namespace oomw::v8 {

// Objects begin before that; a large one lies alone in its pages, behind their head.
inline constexpr std::uint64_t kLargeStart = 32u << 10;

// One of V8's pages, as its head describes it.
struct HeapPage {
  PageRange range;  // with its head
  std::uint64_t first_object = 0;
  // One object has all of it. Others are of one block.
  [[nodiscard]] bool is_large() const;
};

// The page that begins at `begin` by its description, the first words of its head (Node 18 to 22) or of what its head
// points to (24). nullopt: it is none.
[[nodiscard]] std::optional<HeapPage> described_page(std::uint64_t begin, std::span<const std::uint64_t> description);

// The page that begins with a block, no longer than its mapping. words: the block's, from its first one on.
[[nodiscard]] std::optional<HeapPage> page_at(const AddressSpace& space, PageRange block,
                                              std::span<const std::uint64_t> words);

// All pages of a heap, by their heads alone: what a sample of them is chosen from.
class HeapPages final : public native::RangeOwner {
 public:
  // blocks: as candidate_blocks() has them.
  [[nodiscard]] static Result<HeapPages> find(const AddressSpace& space, std::span<const PageRange> blocks);

  [[nodiscard]] std::uint64_t claim(std::uint64_t begin, std::uint64_t end) const override;
  [[nodiscard]] std::uint64_t next(std::uint64_t begin, std::uint64_t end) const override;

  [[nodiscard]] const std::vector<HeapPage>& pages() const { return pages_; }  // by address

 private:
  std::vector<HeapPage> pages_;
};

}  // namespace oomw::v8
