// SPDX-License-Identifier: Apache-2.0
#include "runtimes/v8/v8_contents.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "base/text.h"
#include "memory/cached_reader.h"
#include "runtimes/native/composition.h"
#include "runtimes/native/native_contents.h"
#include "runtimes/v8/census.h"
#include "runtimes/v8/held_sizes.h"
#include "runtimes/v8/names.h"
#include "runtimes/v8/shapes.h"

namespace oomw::v8 {
namespace {

constexpr std::uint64_t kMaxHeapBytes = 1u << 30;  // 0.7 s of CPU time
constexpr std::uint64_t kMaxLookupBytes = 96u << 20;
constexpr std::size_t kLookupBlock = 4096;
constexpr std::size_t kMaxNamedShapes = 1024;
constexpr std::uint64_t kManyObjects = 64;
const char* const kArrayBuffer = "ArrayBuffer";
constexpr double kWorthShowing = 0.02;  // of the anonymous memory

struct Named {
  std::uint64_t count = 0, bytes = 0;
  std::vector<std::uint64_t> samples;
};

// The process runs on while it is read: a name that two readings do not agree on was torn.
std::string name_of(ConstructorNames& first, ConstructorNames& second, const Shape& shape) {
  std::string name = first.name_of(shape);
  return name == second.name_of(shape) ? name : "(object)";
}

// By constructor, over all shapes that its objects have.
std::map<std::string, Named> by_name(ConstructorNames& first, ConstructorNames& second, const Shapes& shapes,
                                     const Census& census) {
  std::vector<const ShapeAmount*> order;
  for (const ShapeAmount& amount : census.amounts()) order.push_back(&amount);
  const std::size_t most = std::min(order.size(), kMaxNamedShapes);
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(most), std::greater(),
                            &ShapeAmount::bytes);
  order.resize(most);
  std::map<std::string, Named> named;
  for (const ShapeAmount* amount : order) {
    Named& into = named[name_of(first, second, shapes.all()[amount->shape])];
    into.count += amount->count;
    into.bytes += amount->bytes;
    const std::size_t samples = std::min<std::size_t>(amount->count, ShapeAmount::kSamples);
    // The shapes with most bytes come first.
    const std::size_t room = HeldSizes::kMaxSamples - std::min(into.samples.size(), HeldSizes::kMaxSamples);
    into.samples.insert(into.samples.end(), amount->samples.begin(), amount->samples.begin() + std::min(samples, room));
  }
  return named;
}

void keep_largest(std::vector<ContentFiller>& found, MemoryContents& contents) {
  std::ranges::sort(found, std::greater(), &ContentFiller::bytes);
  if (found.size() > MemoryContents::kMaxFillersOfKind) found.resize(MemoryContents::kMaxFillersOfKind);
  contents.fillers.insert(contents.fillers.end(), found.begin(), found.end());
}

void add_types(const std::map<std::string, Named>& named, std::uint64_t buffer_bytes, MemoryContents& contents) {
  std::vector<ContentFiller> types;
  for (const auto& [name, one] : named) {
    const std::uint64_t outside = name == kArrayBuffer ? buffer_bytes : 0;
    types.push_back({ContentKind::kType, name, "", one.bytes + outside, one.count});
  }
  keep_largest(types, contents);
}

// The program's own classes, and plain objects, by what they hold, which is more than they are.
void add_holders(const std::map<std::string, Named>& named, HeldSizes& sizes, std::uint64_t most,
                 MemoryContents& contents) {
  const double least = kWorthShowing * static_cast<double>(contents.anonymous_bytes);
  std::vector<ContentFiller> holders;
  for (const auto& [name, one] : named) {
    const bool is_plain = name == ConstructorNames::kPlainObject;
    if ((!is_plain && !ConstructorNames::is_own(name)) || one.count < kManyObjects) continue;
    const double held = sizes.average(one.samples, is_plain) * static_cast<double>(one.count);
    const double bytes = std::min(static_cast<double>(one.bytes) + held, static_cast<double>(most));
    if (bytes < least) continue;
    holders.push_back({ContentKind::kHolder, name, "", static_cast<std::uint64_t>(bytes), one.count});
  }
  keep_largest(holders, contents);
}

// Memory of ArrayBuffers comes from malloc, or has mappings of its own.
// What was found of it.
std::uint64_t take_buffers(const Census& census, MemoryContents& contents) {
  std::uint64_t left = census.buffer_bytes();
  for (const std::string_view name : {"malloc: large blocks", "malloc: in use", "brk", "unexplained"}) {
    const auto part = std::ranges::find(contents.parts, name, &ContentPart::name);
    if (part == contents.parts.end()) continue;
    const std::uint64_t taken = std::min(left, part->bytes);
    part->bytes -= taken;
    left -= taken;
    if (name != "unexplained" || contents.anonymous_bytes == 0) continue;
    contents.named_ratio += static_cast<double>(taken) / static_cast<double>(contents.anonymous_bytes);
  }
  const std::uint64_t bytes = census.buffer_bytes() - left;
  if (bytes == 0) return 0;
  contents.parts.push_back({"ArrayBuffers", "v8", bytes, fmt::format("memory of {} ArrayBuffers", census.buffers())});
  std::erase_if(contents.parts, [](const ContentPart& part) { return part.bytes == 0; });
  std::ranges::stable_sort(contents.parts, std::greater(), &ContentPart::bytes);
  if (contents.parts.size() > MemoryContents::kMaxParts) contents.parts.resize(MemoryContents::kMaxParts);
  return bytes;
}

void add_parts(const Census& census, native::Composition& parts) {
  const std::uint64_t owned = parts.owned_bytes(), other = std::min(census.other_bytes(), owned);
  const std::uint64_t resident = owned - other, free = std::min(census.free_bytes(), resident);
  const std::string proof =
      fmt::format("pages in which V8's objects ({}) and free space lie", human_bytes(census.object_bytes_sum()));
  parts.add("V8 heap: objects", "v8", resident - free, proof);
  parts.add("V8 heap: free", "v8", free, proof);
  parts.add("V8 heap: other pages", "v8", other, "heads of V8's pages; a collection moved away what was in them");
}

}  // namespace

std::uint64_t changed_bytes(const MemoryMap& before, const MemoryMap& after) {
  const std::vector<PageRange> old = possible_heap(before), now = possible_heap(after);
  std::uint64_t both = 0;
  auto other = now.begin();
  for (const PageRange& range : old) {
    while (other != now.end() && other->end <= range.begin) ++other;
    for (auto at = other; at != now.end() && at->begin < range.end; ++at) {
      both += std::min(range.end, at->end) - std::max(range.begin, at->begin);
    }
  }
  const auto sum = [](const std::vector<PageRange>& ranges) {
    return std::accumulate(ranges.begin(), ranges.end(), std::uint64_t{0},
                           [](std::uint64_t bytes, const PageRange& range) { return bytes + range.size(); });
  };
  return sum(old) + sum(now) - 2 * both;
}

Result<MemoryContents> read_contents(const AddressSpace& space, const Constants& constants) {
  const std::vector<PageRange> blocks = candidate_blocks(space);
  std::uint64_t candidates = 0;
  for (const PageRange& block : blocks) candidates += space.present().bytes_in(block.begin, block.end);
  if (candidates > kMaxHeapBytes) return fail(ErrorCode::kLimit, "more memory than is searched for V8's heap");
  ASSIGN_OR_RETURN(MapSearch maps, MapSearch::begin(space, constants, blocks));
  const Shapes& shapes = maps.shapes();
  Census census(space, constants, maps);
  RETURN_IF_ERROR(census.walk(blocks));
  MemoryContents contents;
  contents.runtime = "v8";
  native::Composition parts(space);
  RETURN_IF_ERROR(native::add_native(space, parts, contents, &census, nullptr));
  add_parts(census, parts);
  parts.put_into(contents);
  contents.bytes_read = space.bytes_read();
  if (shapes.is_full()) {
    contents.notes.push_back(
        fmt::format("objects of more than {} shapes: those of other shapes are not counted", Shapes::kMaxShapes));
  }
  if (!census.is_trusted()) {
    contents.notes.push_back(
        fmt::format("objects are not known: they account for {} of the {} of V8's pages (a collection may have run)",
                    human_bytes(census.object_bytes_sum() + census.free_bytes()), human_bytes(census.page_bytes())));
    return contents;
  }
  const std::uint64_t buffers = take_buffers(census, contents);
  CachedReader reader(space, kMaxLookupBytes, kLookupBlock), again(space, kMaxLookupBytes, kLookupBlock);
  ConstructorNames first(reader, constants, shapes), second(again, constants, shapes);
  const std::map<std::string, Named> named = by_name(first, second, shapes, census);
  HeldSizes sizes(reader, space, constants, shapes, first);
  add_holders(named, sizes, census.object_bytes_sum() + census.buffer_bytes(), contents);
  add_types(named, buffers, contents);
  contents.notes.push_back(
      "objects that are dead and not collected yet are counted; of what an object holds, only what "
      "is found within five steps and is not shared");
  if (reader.is_used_up() || again.is_used_up())
    contents.notes.push_back("the read limit was reached: not all names and holders are known");
  contents.bytes_read = space.bytes_read();
  return contents;
}

}  // namespace oomw::v8
