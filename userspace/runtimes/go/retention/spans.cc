// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/retention/spans.h"

#include <algorithm>
#include <array>
#include <string>

namespace oomw::go::retention {

namespace {

constexpr std::uint64_t kLowest = 0x10000, kHighest = std::uint64_t{1} << 47;
constexpr std::uint64_t kMaxSpanPages = SpanTable::kMaxRange / kGoPageBytes;
constexpr std::size_t kSpanBytes = 160;  // the fields we need
constexpr std::size_t kMaxBitBytes = 8U << 20;
constexpr std::size_t kStart = 24, kPages = 32, kFreeIndex = 48;  // in all layouts
constexpr std::uint8_t kInUse = 1, kMaxState = 2;

constexpr std::array<SpanLayout, 3> kLayouts = {{
    {"Go 1.22 and later", 50, 2, 64, 98, 99, 104, 112, 128, 152, true},
    {"Go 1.19 and 1.20", 56, 8, 72, 98, 99, 104, 112, 128, 0, false},
    {"Go 1.21", 56, 8, 72, 106, 107, 112, 120, 136, 0, false},
}};

using RawSpan = std::array<std::byte, kSpanBytes>;

// Up to Go 1.24 a span whose end holds the pointer bits of its objects has a limit as if it had none of them:
// mcentral.grow divides all its bytes, mheap.initSpan those in front of the bits.
bool has_limit_behind_pointer_bits(const Span& span, std::uint64_t limit, const SpanLayout& layout) {
  if (!layout.has_type_headers || !span.has_pointers() || span.is_large() || span.slot_bytes > kLargestInSpan) {
    return false;
  }
  return span.slots == (span.bytes() - span.bytes() / 64) / span.slot_bytes &&
         limit == span.start + span.bytes() / span.slot_bytes * span.slot_bytes;
}

bool is_pointer(std::uint64_t v) { return v % 8 == 0 && v >= kLowest && v < kHighest; }

struct Parsed {
  bool is_valid = false, is_used = false;
  Span span;
  std::uint64_t bits_address = 0;
};

Parsed parse(const RawSpan& raw, const SpanLayout& layout) {
  Parsed p;
  const auto state = value_at<std::uint8_t>(raw, layout.state);
  if (state > kMaxState) return p;
  p.is_used = state == kInUse;
  if (!p.is_used) {
    p.is_valid = true;
    return p;
  }
  const bool is_narrow = layout.slots_bytes == 2;
  const std::uint64_t slots =
      is_narrow ? value_at<std::uint16_t>(raw, layout.slots) : value_at<std::uint64_t>(raw, layout.slots);
  const std::uint64_t free =
      is_narrow ? value_at<std::uint16_t>(raw, kFreeIndex) : value_at<std::uint64_t>(raw, kFreeIndex);
  const auto pages = value_at<std::uint64_t>(raw, kPages), limit = value_at<std::uint64_t>(raw, layout.limit);
  Span& s = p.span;
  s.start = value_at<std::uint64_t>(raw, kStart);
  s.slot_bytes = value_at<std::uint64_t>(raw, layout.slot_bytes);
  s.span_class = value_at<std::uint8_t>(raw, layout.span_class);
  s.specials = value_at<std::uint64_t>(raw, layout.specials);
  s.large_type = layout.large_type != 0 ? value_at<std::uint64_t>(raw, layout.large_type) : 0;
  p.bits_address = value_at<std::uint64_t>(raw, layout.alloc_bits);
  if (s.start % kGoPageBytes != 0 || !is_pointer(s.start) || pages == 0 || pages > kMaxSpanPages) return p;
  if (slots == 0 || slots > kGoPageBytes * 16 || free > slots || s.slot_bytes < 8 || !is_pointer(p.bits_address))
    return p;
  s.pages = static_cast<std::uint32_t>(pages);
  s.slots = static_cast<std::uint32_t>(slots);
  s.free_index = static_cast<std::uint32_t>(free);
  if (s.slot_bytes > s.bytes() || limit > s.end() || (s.specials != 0 && !is_pointer(s.specials))) return p;
  // A large object's limit is where the requested bytes end, not its slot.
  const bool is_large = s.is_large() && slots == 1 && limit > s.start;
  p.is_valid = is_large || limit == s.start + slots * s.slot_bytes || has_limit_behind_pointer_bits(s, limit, layout);
  return p;
}

bool is_call_of(std::span<const std::byte> code, std::size_t i, std::uint64_t address, std::uint64_t target) {
  if (i + 5 > code.size() || code[i] != std::byte{0xe8}) return false;
  const auto displacement = value_at<std::int32_t>(code, i + 1);
  return address + i + 5 + static_cast<std::uint64_t>(std::int64_t{displacement}) == target;
}

// The receiver of a method call: LEA reg, [RIP + disp32] shortly before it.
std::optional<std::uint64_t> receiver_before(std::span<const std::byte> code, std::size_t call, std::uint64_t address) {
  for (std::size_t back = 7; back < 40 && back <= call; ++back) {
    const std::size_t j = call - back;
    const bool is_lea = (code[j] & std::byte{0xfb}) == std::byte{0x48} && code[j + 1] == std::byte{0x8d} &&
                        (code[j + 2] & std::byte{0xc7}) == std::byte{0x05};
    if (!is_lea) continue;
    const auto displacement = value_at<std::int32_t>(code, j + 3);
    return address + j + 7 + static_cast<std::uint64_t>(std::int64_t{displacement});
  }
  return std::nullopt;
}

std::optional<std::uint64_t> find_mheap(Image& image) {
  const Function* init = image.named("runtime.(*mheap).init");
  if (!init) return std::nullopt;
  for (const char* name : {"runtime.mallocinit", "runtime.schedinit"}) {
    const Function* caller = image.named(name);
    if (!caller) continue;
    const std::vector<std::byte> code = image.code(*caller);
    for (std::size_t i = 0; i < code.size(); ++i) {
      if (is_call_of(code, i, caller->entry, init->entry)) return receiver_before(code, i, caller->entry);
    }
  }
  return std::nullopt;
}

// Whether elements from all over the list verify as spans, some of them in use: the first ones may all have been freed.
bool verifies(CachedReader& memory, const Slice& slice, const SpanLayout& layout) {
  constexpr std::uint64_t kProbes = 1024, kFewestUsed = 6;
  std::size_t used = 0;
  const std::uint64_t step = std::max<std::uint64_t>(1, slice.length / kProbes);
  for (std::uint64_t i = 0; i < slice.length; i += step) {
    const auto address = memory.get<std::uint64_t>(slice.data + 8 * i);
    if (!address.has_value() || !is_pointer(*address)) return false;
    const auto raw = memory.get<RawSpan>(*address);
    const Parsed parsed = raw.has_value() ? parse(*raw, layout) : Parsed{};
    if (!parsed.is_valid) return false;
    used += parsed.is_used ? 1 : 0;
  }
  return used >= kFewestUsed;
}

bool is_plausible_list(const Slice& s) {
  return is_pointer(s.data) && s.length >= 8 && s.length <= s.capacity && s.capacity <= (std::uint64_t{1} << 26);
}

}  // namespace

Result<SpanTable::Location> SpanTable::locate(Image& image, CachedReader& memory) {
  constexpr std::uint64_t kHeapStructBytes = 128U << 10;  // allspans lies 65 KiB into it
  constexpr std::uint64_t kBehindList = 1024;             // curArena lies 200 bytes behind allspans
  const auto mheap = find_mheap(image);
  if (!mheap) return fail(ErrorCode::kUnsupported, "the heap's root was not found in the runtime's code");
  for (std::uint64_t offset = 0; offset + sizeof(Slice) <= kHeapStructBytes; offset += 8) {
    const auto slice = memory.get<Slice>(*mheap + offset);
    if (!slice.has_value()) return tl::make_unexpected(slice.error());
    if (!is_plausible_list(*slice)) continue;
    for (const SpanLayout& layout : kLayouts) {
      if (!verifies(memory, *slice, layout)) continue;
      return Location{*mheap + offset, &layout, {*mheap, *mheap + offset + kBehindList}};
    }
  }
  return fail(ErrorCode::kUnsupported, "the list of spans did not verify");
}

Result<SpanTable> SpanTable::read(const Location& location, CachedReader& memory) {
  SpanTable table;
  table.layout_ = location.layout;
  table.heap_struct_ = location.heap_struct;
  ASSIGN_OR_RETURN(const auto slice, memory.get<Slice>(location.list));
  if (!is_plausible_list(slice)) return fail(ErrorCode::kInvalid, "the list of spans changed");
  if (slice.length > kMaxSpans) return fail(ErrorCode::kLimit, std::to_string(slice.length) + " spans are too many");
  std::vector<std::uint64_t> addresses(slice.length);
  RETURN_IF_ERROR(memory.read(slice.data, std::as_writable_bytes(std::span(addresses))));
  std::size_t rejected = 0;
  for (const std::uint64_t address : addresses) {
    const auto raw = is_pointer(address) ? memory.get<RawSpan>(address) : fail(ErrorCode::kInvalid, "");
    if (!raw.has_value() && raw.error().code != ErrorCode::kInvalid) return tl::make_unexpected(raw.error());
    Parsed parsed = raw.has_value() ? parse(*raw, *table.layout_) : Parsed{};
    rejected += parsed.is_valid ? 0 : 1;
    if (!parsed.is_valid || !parsed.is_used) continue;
    const std::size_t bit_bytes = (parsed.span.slots + 7) / 8;
    if (table.bits_.size() + bit_bytes > kMaxBitBytes) return fail(ErrorCode::kLimit, "too many small objects");
    parsed.span.bits = static_cast<std::uint32_t>(table.bits_.size());
    table.bits_.resize(table.bits_.size() + bit_bytes);
    RETURN_IF_ERROR(memory.read(parsed.bits_address,
                                std::as_writable_bytes(std::span(table.bits_).subspan(parsed.span.bits, bit_bytes))));
    table.spans_.push_back(parsed.span);
  }
  if (rejected * 50 > slice.length) return fail(ErrorCode::kInvalid, "the list of spans is torn");
  RETURN_IF_ERROR(table.index());
  return table;
}

Result<> SpanTable::index() {
  if (spans_.empty()) return fail(ErrorCode::kInvalid, "no spans in use");
  std::sort(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
  for (std::size_t i = 1; i < spans_.size(); ++i) {
    if (spans_[i].start < spans_[i - 1].end()) return fail(ErrorCode::kInvalid, "spans overlap");
  }
  low_ = spans_.front().start;
  high_ = spans_.back().end();
  if (high_ - low_ > kMaxRange) return fail(ErrorCode::kLimit, "a heap of more than 8 GiB");
  pages_.assign((high_ - low_) / kGoPageBytes, 0);
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    const auto first = pages_.begin() + static_cast<std::ptrdiff_t>((spans_[i].start - low_) / kGoPageBytes);
    std::fill(first, first + spans_[i].pages, static_cast<std::uint32_t>(i + 1));
  }
  return {};
}

std::uint64_t SpanTable::bytes_in_use() const {
  std::uint64_t sum = 0;
  for (const Span& span : spans_) sum += span.bytes();
  return sum;
}

const Span* SpanTable::span_at(std::uint64_t address) const {
  if (address - low_ >= high_ - low_) return nullptr;
  const std::uint32_t number = pages_[(address - low_) / kGoPageBytes];
  return number != 0 ? &spans_[number - 1] : nullptr;
}

std::optional<ObjectAt> SpanTable::object_at(std::uint64_t address) const {
  const Span* span = span_at(address);
  if (!span) return std::nullopt;
  const std::uint64_t slot = (address - span->start) / span->slot_bytes;
  if (slot >= span->slots) return std::nullopt;
  return ObjectAt{static_cast<std::uint32_t>(span - spans_.data()), span->start + slot * span->slot_bytes};
}

bool SpanTable::is_free(const Span& span, std::uint64_t base) const {
  const std::uint64_t slot = (base - span.start) / span.slot_bytes;
  if (slot < span.free_index || slot >= span.slots) return slot >= span.slots;
  return (bits_[span.bits + slot / 8] & (1U << (slot % 8))) == 0;
}

}  // namespace oomw::go::retention
