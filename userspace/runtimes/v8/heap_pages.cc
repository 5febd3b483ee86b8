// SPDX-License-Identifier: Apache-2.0
#include "runtimes/v8/heap_pages.h"

#include <algorithm>
#include <array>

#include "runtimes/v8/shapes.h"

namespace oomw::v8 {
namespace {

constexpr std::size_t kDescription = 12;  // words
constexpr std::uint64_t kMaxPage = 1u << 30;

}  // namespace

bool HeapPage::is_large() const { return range.size() > kBlockBytes; }

std::optional<HeapPage> described_page(std::uint64_t begin, std::span<const std::uint64_t> description) {
  description = description.first(std::min(description.size(), kDescription));
  HeapPage page;
  page.range.begin = begin;
  const auto first = std::ranges::find_if(
      description, [&](std::uint64_t word) { return word > begin && word < begin + kLargeStart && word % 8 == 0; });
  if (first == description.end()) return std::nullopt;
  page.first_object = *first;
  for (const std::uint64_t word : description) {
    if (word <= begin + kLargeStart || word - begin > kMaxPage) continue;
    // A large object ends anywhere; then its size is there, too.
    const std::uint64_t end = (word + kPageBytes - 1) / kPageBytes * kPageBytes;
    const bool is_end = word == end || std::ranges::count(description, word - page.first_object) > 0;
    if (is_end) page.range.end = std::max(page.range.end, end);
  }
  if (page.range.end == 0) return std::nullopt;
  return page;
}

std::optional<HeapPage> page_at(const AddressSpace& space, PageRange block, std::span<const std::uint64_t> words) {
  std::optional<HeapPage> page = described_page(block.begin, words);
  std::array<std::uint64_t, kDescription> beside{};
  if (!page && words.size() > 1) {
    const auto read = space.read_some(words[1], std::as_writable_bytes(std::span(beside)));
    const bool is_its = read.has_value() && *read == sizeof beside && beside[1] == block.begin;
    if (is_its) page = described_page(block.begin, beside);
  }
  const Mapping* mapping = space.map().at(block.begin);
  if (!page || mapping == nullptr || page->range.end > mapping->end) return std::nullopt;
  page->range.end = std::max(page->range.end, block.end);
  return page;
}

Result<HeapPages> HeapPages::find(const AddressSpace& space, std::span<const PageRange> blocks) {
  HeapPages found;
  std::array<std::uint64_t, kDescription> head{};
  for (const PageRange& block : blocks) {
    if (!found.pages_.empty()) {
      const PageRange& last = found.pages_.back().range;
      if (block.begin >= last.begin && block.begin < last.end) continue;
    }
    const auto read = space.read_some(block.begin, std::as_writable_bytes(std::span(head)));
    if (!read.has_value()) return tl::unexpected(read.error());
    if (*read < sizeof head) continue;
    if (const auto page = page_at(space, block, head)) found.pages_.push_back(*page);
  }
  std::ranges::sort(found.pages_, {}, [](const HeapPage& page) { return page.range.begin; });
  return found;
}

std::uint64_t HeapPages::claim(std::uint64_t begin, std::uint64_t end) const {
  const auto after = std::ranges::upper_bound(pages_, begin, {}, [](const HeapPage& page) { return page.range.end; });
  if (after == pages_.end() || after->range.begin > begin) return begin;
  return std::min(after->range.end, end);
}

std::uint64_t HeapPages::next(std::uint64_t begin, std::uint64_t end) const {
  const auto found = std::ranges::upper_bound(pages_, begin, {}, [](const HeapPage& page) { return page.range.begin; });
  return found == pages_.end() ? end : std::min(found->range.begin, end);
}

}  // namespace oomw::v8
