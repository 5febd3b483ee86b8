// SPDX-License-Identifier: Apache-2.0
#include "runtimes/v8/v8_contents.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "base/text.h"
#include "runtimes/native/composition.h"
#include "runtimes/native/native_contents.h"
#include "runtimes/v8/census.h"
#include "runtimes/v8/held_containers.h"
#include "runtimes/v8/held_sizes.h"
#include "runtimes/v8/holder_names.h"
#include "runtimes/v8/map_search.h"
#include "runtimes/v8/names.h"
#include "runtimes/v8/sampled_contents.h"
#include "runtimes/v8/shape_names.h"
#include "runtimes/v8/shapes.h"

namespace oomw::v8 {
namespace {

constexpr std::uint64_t kMaxOneIn = 1u << 20;
constexpr std::uint64_t kManyObjects = 64;
constexpr double kMostSamples = 0.6;
constexpr double kWorthShowing = 0.02;  // of the anonymous memory

struct Named {
  std::uint64_t count = 0, bytes = 0;
  std::vector<std::uint64_t> samples;
};

using NamedObjects = std::map<std::string, Named>;

void add_to(NamedObjects& objects, const std::string& name, const ShapeAmount& amount) {
  Named& into = objects[name];
  into.count += amount.count;
  into.bytes += amount.bytes;
  const std::size_t samples = std::min<std::size_t>(amount.count, ShapeAmount::kSamples);
  // The shapes with most bytes come first.
  const std::size_t room = HeldSizes::kMaxSamples - std::min(into.samples.size(), HeldSizes::kMaxSamples);
  into.samples.insert(into.samples.end(), amount.samples.begin(), amount.samples.begin() + std::min(samples, room));
}

// By constructor, over all shapes that its objects have.
NamedObjects by_name(const std::vector<NamedShape>& shapes) {
  NamedObjects named;
  for (const NamedShape& shape : shapes) add_to(named, shape.name, *shape.amount);
  return named;
}

// Plain objects by the names of their attributes, which come from the code where many have the same.
NamedObjects by_keys(const std::vector<NamedShape>& named, ShapeNames& names, const Constants& constants,
                     const Shapes& shapes) {
  HolderNames first(names.constructors(), constants), second(names.constructors_again(), constants);
  NamedObjects plain;
  for (const NamedShape& one : named) {
    if (one.name != ConstructorNames::kPlainObject) continue;
    const Shape& shape = shapes.all()[one.amount->shape];
    const std::string keys = one.amount->count < kManyObjects ? "" : first.keys_text(shape);
    const bool is_sound = !keys.empty() && keys == second.keys_text(shape);
    add_to(plain, is_sound ? keys : std::string(ConstructorNames::kPlainObject), *one.amount);
  }
  return plain;
}

// What of one shape there is for each closure, or each call that waits, of one function, if most of a few samples are.
std::vector<ContentFiller> by_function(const std::vector<NamedShape>& named, ShapeNames& names, HeldSizes& sizes,
                                       const Constants& constants) {
  HolderNames first(names.constructors(), constants), second(names.constructors_again(), constants);
  std::vector<ContentFiller> fillers;
  for (const NamedShape& one : named) {
    if (one.amount->count < kManyObjects) continue;
    std::map<std::string, std::vector<std::vector<std::uint64_t>>> samples;
    for (const std::uint64_t address : one.amount->samples) {
      const std::string text = first.function_text(address + 1);
      if (!text.empty() && text == second.function_text(address + 1)) samples[text].push_back({address + 1});
    }
    for (const auto& [text, entries] : samples) {
      const double share = static_cast<double>(entries.size()) / static_cast<double>(ShapeAmount::kSamples);
      if (share <= kMostSamples) continue;
      const auto all = static_cast<double>(one.amount->count);
      const double bytes = sizes.average_of_entries(entries);
      // Of few samples all may be the same by chance, so two of each kind are added (Agresti and Coull).
      const double likely =
          (static_cast<double>(entries.size()) + 2) / (static_cast<double>(ShapeAmount::kSamples) + 4);
      const double error =
          2 * std::sqrt(likely * (1 - likely) / (static_cast<double>(ShapeAmount::kSamples) + 4)) * all * bytes;
      fillers.push_back({ContentKind::kHolder, text, "", static_cast<std::uint64_t>(bytes * share * all),
                         static_cast<std::uint64_t>(share * all), static_cast<std::uint64_t>(error)});
    }
  }
  return fillers;
}

void add_types(const NamedObjects& named, std::uint64_t buffer_bytes, MemoryContents& contents) {
  std::vector<ContentFiller> types;
  for (const auto& [name, one] : named) {
    const std::uint64_t outside = name == kArrayBuffer ? buffer_bytes : 0;
    types.push_back({ContentKind::kType, name, "", one.bytes + outside, one.count});
  }
  keep_largest(types, contents);
}

// The program's own classes, and plain objects, by what they hold, which is more than they are.
void add_classes(const NamedObjects& named, const NamedObjects& plain, std::vector<ContentFiller> holders,
                 HeldSizes& sizes, std::uint64_t most, MemoryContents& contents) {
  const double least = kWorthShowing * static_cast<double>(contents.anonymous_bytes);
  for (ContentFiller& one : holders) one.bytes = std::min(one.bytes, most);
  std::erase_if(holders, [&](const ContentFiller& one) { return static_cast<double>(one.bytes) < least; });
  const auto add = [&](const std::string& name, const Named& one, bool is_plain) {
    if (one.count < kManyObjects) return;
    const double held = sizes.average(one.samples, is_plain) * static_cast<double>(one.count);
    const double bytes = std::min(static_cast<double>(one.bytes) + held, static_cast<double>(most));
    if (bytes < least) return;
    holders.push_back({ContentKind::kHolder, name, "", static_cast<std::uint64_t>(bytes), one.count});
  };
  for (const auto& [name, one] : named) {
    if (ConstructorNames::is_own(name)) add(name, one, false);
  }
  for (const auto& [name, one] : plain) add(name, one, true);
  keep_largest(holders, contents);
}

// Memory of ArrayBuffers comes from malloc, or has mappings of its own.
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

Result<MemoryContents> read_contents(const AddressSpace& space, const Constants& constants, SampleRate rate,
                                     std::uint64_t max_heap_bytes) {
  const std::vector<PageRange> blocks = candidate_blocks(space);
  std::uint64_t candidates = 0;
  for (const PageRange& block : blocks) candidates += space.present().bytes_in(block.begin, block.end);
  const std::uint64_t needed = (candidates + max_heap_bytes - 1) / max_heap_bytes;
  rate.one_in = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(needed, rate.one_in, kMaxOneIn));
  if (!rate.is_whole()) return read_sample(space, constants, blocks, rate);
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
  note_doubts(shapes, census, contents);
  if (!census.is_trusted()) return contents;
  const std::uint64_t buffers = take_buffers(census, contents);
  ShapeNames names(space, constants, shapes);
  const std::vector<NamedShape> named_shapes = names.of(census.amounts());
  const NamedObjects named = by_name(named_shapes);
  HeldSizes sizes(names.memory(), space, constants, shapes, names.constructors());
  const std::uint64_t most = census.object_bytes_sum() + census.buffer_bytes();
  const double least = kWorthShowing * static_cast<double>(contents.anonymous_bytes);
  std::vector<ContentFiller> containers =
      HeldContainers(names.constructors(), names.constructors_again(), sizes, constants, census.noted())
          .find(least, static_cast<double>(most));
  keep_largest(containers, contents);
  add_classes(named, by_keys(named_shapes, names, constants, shapes),
              by_function(named_shapes, names, sizes, constants), sizes, most, contents);
  add_types(named, buffers, contents);
  contents.notes.push_back(
      "objects that are dead and not collected yet are counted; of what an object holds, only what "
      "is found within five steps and is not shared");
  if (names.is_used_up()) contents.notes.push_back("the read limit was reached: not all names and holders are known");
  contents.bytes_read = space.bytes_read();
  return contents;
}

}  // namespace oomw::v8
