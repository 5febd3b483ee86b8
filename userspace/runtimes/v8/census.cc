// SPDX-License-Identifier: Apache-2.0
#include "runtimes/v8/census.h"

#include <algorithm>

#include "runtimes/native/words.h"

namespace oomw::v8 {
namespace {

using native::number_at;

constexpr std::uint64_t kHead = 16;  // map, length
// Map, number of descriptors, cache; then of each the name, details and value.
constexpr std::uint64_t kDescriptors = 24, kDescriptor = 24;
constexpr std::uint64_t kMaxLength = 1u << 27;  // elements of an array, bytes of a string
constexpr std::uint64_t kMaxBuffer = std::uint64_t{1} << 36, kLeastAddress = 64u << 10,
                        kMaxAddress = std::uint64_t{1} << 47;
constexpr std::size_t kHeadWords = 4;
constexpr int kAttempts = 3;
constexpr std::size_t kShapesOfBlock = 512;
constexpr std::uint64_t kMaxUnproved = 1024;

std::uint64_t up_to_word(std::uint64_t bytes) { return (bytes + 7) / 8 * 8; }

std::optional<std::uint64_t> string_bytes(const Constants& constants, const Shape& shape,
                                          std::span<const std::uint64_t> head) {
  const auto length = number_at<std::uint32_t>(std::as_bytes(head), constants.string_length);
  if ((shape.type & constants.string_kind_mask) != 0 || length > 2 * kMaxLength) return std::nullopt;
  const std::uint64_t wide = (shape.type & constants.string_one_byte) != 0 ? 1 : 2;
  return constants.string_chars + up_to_word(length * wide);
}

// A number of V8's small ones: in the upper half of the word.
std::optional<std::uint64_t> small_number(std::uint64_t word) {
  if ((word & 0xffffffff) != 0 || word >> 32 > kMaxLength) return std::nullopt;
  return word >> 32;
}

}  // namespace

std::optional<std::uint64_t> object_bytes(const Constants& constants, const Shape& shape,
                                          std::span<const std::uint64_t> head) {
  if (shape.words != 0) return shape.bytes();
  if (shape.extent == Extent::kString) return string_bytes(constants, shape, head);
  if (head.size() < 2) return std::nullopt;
  if (shape.extent == Extent::kDescriptors) return kDescriptors + kDescriptor * (head[1] & 0xffff);
  const std::optional<std::uint64_t> number = small_number(head[1]);
  if (shape.extent == Extent::kFreeSpace) return number && *number >= kHead ? number : std::nullopt;
  if (!number) return kHead;
  if (shape.extent == Extent::kBytes) return up_to_word(kHead + *number);
  if (shape.extent == Extent::kProperties) return kHead + 8 * (*number & 0x3ff);  // the rest is a hash
  return kHead + 8 * *number;
}

bool Census::is_trusted() const {
  const auto known = static_cast<double>(sums_.object_bytes + sums_.free_bytes);
  return sums_.page_bytes > 0 && known >= kTrusted * static_cast<double>(sums_.page_bytes);
}

std::uint64_t Census::claim(std::uint64_t begin, std::uint64_t end) const {
  const auto after = std::ranges::upper_bound(sums_.ranges, begin, {}, &PageRange::end);
  if (after == sums_.ranges.end() || after->begin > begin) return begin;
  return std::min(after->end, end);
}

std::uint64_t Census::next(std::uint64_t begin, std::uint64_t end) const {
  const auto found = std::ranges::upper_bound(sums_.ranges, begin, {}, &PageRange::begin);
  return found == sums_.ranges.end() ? end : std::min(found->begin, end);
}

void Census::count(const Found& found) {
  ShapeAmount& amount = places_.in(sums_.amounts, found.shape);
  std::uint64_t place = amount.count++;
  amount.bytes += found.bytes;
  if (place >= ShapeAmount::kSamples) {
    // Each object has the same chance to be a sample.
    sums_.random ^= sums_.random << 13, sums_.random ^= sums_.random >> 7, sums_.random ^= sums_.random << 17;
    place = static_cast<std::uint64_t>(static_cast<unsigned __int128>(sums_.random) * amount.count >> 64);
  }
  if (place < ShapeAmount::kSamples) amount.samples[place] = found.address;
}

// object: its words, as far as they are in the block.
void Census::note_buffer(std::span<const std::uint64_t> object) {
  const std::span<const std::byte> bytes = std::as_bytes(object);
  const auto length = number_at(bytes, constants_.buffer_length), memory = number_at(bytes, constants_.buffer_memory);
  const bool is_sound = length > 0 && length < kMaxBuffer && memory >= kLeastAddress && memory < kMaxAddress;
  if (!is_sound || sums_.buffers.size() + pending_buffers_.size() >= kMaxBuffers) return;
  pending_buffers_.push_back({memory, memory + length});
}

// An array or a string that has pages of its own. Whether all of it is there: its mapping goes on to its end.
bool Census::take_large(PageRange block, std::uint64_t address, std::uint64_t bytes, std::uint32_t shape) {
  const Mapping* mapping = space_.map().at(address);
  const bool is_alone = address - block.begin < kLargeStart && found_.empty() && block_free_ == 0;
  if (!is_alone || mapping == nullptr || bytes > mapping->end - address) return false;
  const std::uint64_t last = (address + bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  sums_.large = {block.begin, std::min(last, mapping->end)};
  sums_.ranges.push_back(sums_.large);
  sums_.page_bytes += space_.present().bytes_in(sums_.large.begin, sums_.large.end);
  const std::uint64_t present = space_.present().bytes_in(address, address + bytes);
  count({address, present, shape});
  sums_.object_bytes += present;
  return true;
}

// The words to go on by.
std::size_t Census::take_object(PageRange block, std::span<const std::uint64_t> words, std::size_t at,
                                const Shape& shape) {
  const auto bytes = object_bytes(constants_, shape, words.subspan(at, std::min(kHeadWords, words.size() - at)));
  if (!bytes || *bytes < 8) return 1;
  const std::uint64_t address = block.begin + at * 8;
  if (*bytes > block.end - address) {
    return shape.words == 0 && take_large(block, address, *bytes, shape.index) ? words.size() : 1;
  }
  if (shape.type == constants_.type_map && maps_.shapes().is_meta(words[at])) {
    maps_.take(address + 1, words.subspan(at));
  }
  const std::size_t length = *bytes / 8;
  // Behind an object is another one. A length of its own that does not lead there may be torn.
  bool is_followed = at + length >= words.size();
  if (!is_followed) {
    next_ = {at + length, maps_.find(words[at + length], true)};
    is_followed = words[at + length] == 0 || next_.shape.map != 0;
  }
  if (shape.type == constants_.type_free) {
    if (!is_followed) return 1;
    block_free_ += is_whole_ ? *bytes : space_.present().bytes_in(address, address + *bytes);
    return length;
  }
  if (!is_followed && shape.words == 0 && *bytes > kMaxUnproved) return 1;
  if (shape.type == constants_.type_buffer) note_buffer(words.subspan(at, length));
  found_.push_back({address, *bytes, shape.index});
  return is_followed || shape.words != 0 ? length : kHead / 8;
}

// Whether it is V8's by what was found in it.
bool Census::keep(PageRange block) {
  std::uint64_t sum = block_free_;
  for (const Found& found : found_) sum += found.bytes;
  const std::uint64_t present = space_.present().bytes_in(block.begin, block.end);
  if (sum * 2 < present) return false;
  for (const Found& found : found_) count(found);
  sums_.object_bytes += sum - block_free_;
  sums_.free_bytes += block_free_;
  sums_.page_bytes += present;
  sums_.buffers.insert(sums_.buffers.end(), pending_buffers_.begin(), pending_buffers_.end());
  sums_.ranges.push_back(block);
  return true;
}

void Census::note_objects(PageRange block, std::span<const std::uint64_t> words) {
  if (!constants_.names.is_known) return;
  for (const Found& found : found_) {
    const std::uint64_t at = (found.address - block.begin) / 8;
    const std::uint64_t length = std::min<std::uint64_t>(found.bytes / 8, words.size() - at);
    sums_.noted.note(constants_, maps_.shapes().all()[found.shape], found.address + 1, words.subspan(at, length));
  }
}

void Census::keep_by_head(PageRange block, std::span<const std::uint64_t> words) {
  const std::optional<HeapPage> page = page_at(space_, block, words);
  if (!page) return;
  sums_.ranges.push_back(page->range);
  sums_.other_bytes += space_.present().bytes_in(page->range.begin, page->range.end);
  if (page->is_large()) sums_.large = page->range;
}

void Census::find_objects(PageRange block, std::span<const std::uint64_t> words) {
  maps_.start_block();
  found_.clear();
  pending_buffers_.clear();
  block_free_ = 0;
  is_whole_ = space_.present().bytes_in(block.begin, block.end) == block.size();
  next_ = {};
  std::size_t step = 0;
  for (std::size_t at = 0; at < words.size(); at += step) {
    const Shape shape = at == next_.at && at > 0 ? next_.shape : maps_.find(words[at], step > 1);
    step = 1;
    if (shape.extent == Extent::kMap) {
      // Most objects, or none.
      if (shape.words == 0 || shape.words > words.size() - at) continue;
      found_.push_back({block.begin + at * 8, shape.bytes(), shape.index});
      step = shape.words;
    } else {
      step = take_object(block, words, at, shape);
    }
  }
  maps_.end_block(block);
}

void Census::sum_buffers() {
  std::ranges::sort(sums_.buffers, {}, &Buffer::begin);
  std::uint64_t done = 0;
  for (const Buffer& buffer : sums_.buffers) {
    const std::uint64_t begin = std::max(buffer.begin, done);
    if (begin >= buffer.end) continue;
    const std::uint64_t present = space_.present().bytes_in(begin, buffer.end);
    done = buffer.end;
    sums_.buffer_bytes += present;
    if (present > 0) ++sums_.buffer_count;
  }
}

Result<bool> Census::walk_all(std::span<const PageRange> blocks) {
  const std::size_t meta_maps = maps_.shapes().meta_maps();
  sums_ = {};
  // No page of it is touched before it is used.
  sums_.amounts.reserve(std::min(Shapes::kMaxShapes, blocks.size() * kShapesOfBlock));
  std::vector<std::uint64_t> words;
  for (const PageRange& block : blocks) {
    if (block.begin >= sums_.large.begin && block.begin < sums_.large.end) continue;
    RETURN_IF_ERROR(read_block(space_, block, words));
    find_objects(block, words);
    if (sums_.large.begin != block.begin) {
      if (keep(block)) {
        note_objects(block, words);
      } else {
        keep_by_head(block, words);
      }
    }
    RETURN_IF_ERROR(maps_.status());
    if (maps_.shapes().meta_maps() != meta_maps) return false;
  }
  return true;
}

Result<> Census::walk(std::span<const PageRange> blocks) {
  bool is_whole = false;
  for (int i = 0; i < kAttempts && !is_whole; ++i) {
    ASSIGN_OR_RETURN(is_whole, walk_all(blocks));
  }
  if (!is_whole || !is_trusted()) {
    RETURN_IF_ERROR(maps_.settle());
    ASSIGN_OR_RETURN(is_whole, walk_all(blocks));
  }
  std::ranges::sort(sums_.ranges, {}, &PageRange::begin);
  sums_.noted.end();
  sum_buffers();
  return {};
}

void Census::add_to(SampledPage& page, const Found& found) {
  SampledPage::Amount& amount = places_in_page_.in(page.amounts, found.shape);
  ++amount.count;
  amount.bytes += found.bytes;
}

void Census::sample_block(PageRange block, std::span<const std::uint64_t> words) {
  find_objects(block, words);
  SampledPage& page = sums_.sampled.emplace_back();
  if (!keep(block)) {
    page.other_bytes = space_.present().bytes_in(block.begin, block.end);
    return;
  }
  for (const Found& found : found_) add_to(page, found);
  sums_.sampled_amounts += page.amounts.size();
  page.free_bytes = block_free_;
  for (const Buffer& buffer : pending_buffers_)
    page.buffer_bytes += space_.present().bytes_in(buffer.begin, buffer.end);
}

void Census::sample_large(const HeapPage& page) {
  std::array<std::uint64_t, kHeadWords> head{};
  const auto read = space_.read_some(page.first_object, std::as_writable_bytes(std::span(head)));
  if (!read.has_value() || *read < sizeof head) return;
  maps_.start_block();
  const Shape shape = maps_.find(head[0], true);
  const auto bytes = shape.map == 0 ? std::nullopt : object_bytes(constants_, shape, head);
  if (!bytes || *bytes > page.range.end - page.first_object) return;
  const Found found{page.first_object, space_.present().bytes_in(page.first_object, page.first_object + *bytes),
                    shape.index};
  sums_.page_bytes += space_.present().bytes_in(page.range.begin, page.range.end);
  sums_.object_bytes += found.bytes;
  count(found);
  add_to(sums_.large_objects, found);
}

Result<bool> Census::walk_pages(std::span<const HeapPage> pages) {
  const std::size_t meta_maps = maps_.shapes().meta_maps();
  sums_ = {};
  std::vector<std::uint64_t> words;
  for (const HeapPage& page : pages) {
    if (page.is_large()) {
      sample_large(page);
    } else {
      RETURN_IF_ERROR(read_block(space_, page.range, words));
      sample_block(page.range, words);
    }
    if (sums_.sampled_amounts > kMaxSampledAmounts) return fail(ErrorCode::kLimit, "too many shapes in a sample");
    RETURN_IF_ERROR(maps_.status());
    if (maps_.shapes().meta_maps() != meta_maps) return false;
  }
  return true;
}

Result<> Census::walk_sample(std::span<const HeapPage> pages) {
  bool is_whole = false;
  for (int i = 0; i < kAttempts && !is_whole; ++i) {
    ASSIGN_OR_RETURN(is_whole, walk_pages(pages));
  }
  if (!is_whole) return fail(ErrorCode::kUnavailable, "too many maps of maps for a sample");
  return {};
}

}  // namespace oomw::v8
