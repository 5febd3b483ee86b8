// SPDX-License-Identifier: Apache-2.0
#include "runtimes/cpython/cpython_contents.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>

#include <fmt/format.h>

#include "base/text.h"
#include "memory/cached_reader.h"
#include "runtimes/cpython/arena_table.h"
#include "runtimes/cpython/frames.h"
#include "runtimes/cpython/modules.h"
#include "runtimes/cpython/name_search.h"
#include "runtimes/cpython/objects.h"
#include "runtimes/cpython/pools.h"
#include "runtimes/cpython/sizes.h"
#include "runtimes/cpython/type_table.h"
#include "runtimes/native/composition.h"
#include "runtimes/native/native_contents.h"

namespace oomw::cpython {
namespace {

constexpr std::uint64_t kMaxLookupBytes = 96u << 20;
constexpr std::size_t kLookupBlock = 4096;
// Names and what they refer to lie apart: of a block little else is used. Django's 900 modules need 100,000 blocks.
constexpr std::uint64_t kMaxNameBytes = 192u << 20;
constexpr std::size_t kNameBlock = 1024;
constexpr int kQuickSamples = 4;
// A container that grows may be moved between two reads of it.
constexpr int kLooks = 3;
constexpr std::uint64_t kMaxLookBytes = 16u << 20;
constexpr double kWorthShowing = 0.02;  // of the anonymous memory
constexpr std::size_t kManyCalls = 16;

void add_parts(native::Composition& parts, const ObjectCensus& census, bool is_sample) {
  const std::uint64_t resident = parts.owned_bytes();
  std::string proof = fmt::format("{} pools whose blocks add up, {} that do not", census.pools(), census.bad_pools());
  const Estimate estimated = census.estimated_free();
  const std::uint64_t free = std::min(is_sample ? estimated.value : census.free_bytes(), resident);
  if (is_sample) {
    proof = fmt::format("about, +- {}, by a sample of {} of {} pools", human_bytes(estimated.error),
                        census.sampled().read, census.sampled().all);
  }
  parts.add("python objects: in use", "cpython", resident - free, proof);
  parts.add("python objects: free", "cpython", free, proof);
}

void estimate(ContentFiller& filler, const TypeAmount& amount, const ObjectCensus& census) {
  const Estimate bytes = census.estimate(amount);
  filler.bytes = bytes.value;
  filler.error_bytes = bytes.error;
  filler.count = static_cast<std::uint64_t>(static_cast<double>(amount.count) * census.sampled().scale());
}

struct CallsOfFunction {
  std::string name;  // "coroutine of `load_page`"
  std::uint64_t count = 0, bytes = 0;
};

// The function in which most calls of a type wait, and how many do.
std::unordered_map<const TypeInfo*, CallsOfFunction> functions_of(FrameReader& frames, const ObjectCensus& census) {
  std::unordered_map<const TypeInfo*, CallsOfFunction> names;
  for (const auto& [key, group] : census.calls()) {
    const TypeInfo* type = key.first;
    const auto amount = census.amounts().find(type);
    const bool is_most = amount != census.amounts().end() && group.count * 2 > amount->second.count;
    if (!is_most || group.count < kManyCalls) continue;
    const std::optional<Frame> frame = frames.of_generator(group.known.front());
    if (!frame || frame->function.empty()) continue;
    names[type] = {type->name + " of `" + frame->function + "`", group.count, group.bytes};
  }
  return names;
}

void add_types(MemoryContents& contents, const ObjectCensus& census, bool is_sample,
               const std::unordered_map<const TypeInfo*, CallsOfFunction>& functions) {
  std::vector<ContentFiller> types;
  const auto add = [&](const std::string& name, const TypeAmount& amount) {
    if (amount.count == 0) return;
    ContentFiller filler{ContentKind::kType, name, "", amount.bytes, amount.count};
    if (is_sample) estimate(filler, amount, census);
    // An estimate that is no larger than its error says nothing.
    if (!is_sample || *filler.error_bytes < filler.bytes) types.push_back(std::move(filler));
  };
  for (const auto& [type, amount] : census.amounts()) {
    TypeAmount others = amount;
    if (const auto function = functions.find(type); function != functions.end()) {
      const CallsOfFunction& calls = function->second;
      add(calls.name, {calls.count, calls.bytes});
      others = {amount.count - calls.count, amount.bytes - calls.bytes};
    }
    add(type->name, others);
  }
  add("key tables of dicts", census.key_tables());
  std::ranges::sort(types, std::greater(), &ContentFiller::bytes);
  if (types.size() > MemoryContents::kMaxFillersOfKind) types.resize(MemoryContents::kMaxFillersOfKind);
  contents.fillers.insert(contents.fillers.end(), types.begin(), types.end());
}

// For the kernel. The types with the most bytes have a name at the kill even if its page is gone.
void add_pool_table(MemoryContents& contents, const AddressSpace& space, const TypeTable& types,
                    const PoolRegions& regions, const ObjectCensus& census) {
  Result<PoolTable> table = find_arena_table(space, types, regions);
  if (!table.has_value()) {
    contents.notes.push_back("python objects will not be counted at a kill: " + table.error().message);
    return;
  }
  std::vector<std::pair<std::uint64_t, const TypeInfo*>> known;
  for (const auto& [type, amount] : census.amounts()) {
    if (!type->is_heap_type()) known.emplace_back(amount.bytes, type);
  }
  std::ranges::sort(known, std::greater());
  if (known.size() > PoolTable::kMaxTypes) known.resize(PoolTable::kMaxTypes);
  for (const auto& [bytes, type] : known) table->types.push_back({type->address, type->name});
  contents.pool_table = std::move(*table);
}

// Of the containers with many entries, and of all that have a name, whatever they hold.
std::set<std::uint64_t> candidates(const ObjectCensus& census, const NameSearch& names) {
  std::set<std::uint64_t> addresses;
  for (const BigContainer& container : census.containers()) addresses.insert(container.address);
  for (const NamedContainer& named : names.named()) addresses.insert(named.address);
  return addresses;
}

// One look at all that is reached by references, with a memory of its own. Names have limits of their own: where there
// are too many, the containers are measured all the same.
struct Inspection {
  Inspection(const ByteSource& source, const TypeTable& known, const NameRoots& roots)
      : memory(source),
        reader(memory, kMaxLookupBytes, kLookupBlock),
        name_reader(memory, kMaxNameBytes, kNameBlock),
        types(known.read_again(reader)),
        objects(reader, types),
        named_objects(name_reader, types),
        names(named_objects, types) {
    names.run(roots);
  }
  [[nodiscard]] bool is_used_up() const { return reader.is_used_up() || name_reader.is_used_up(); }
  const ByteSource& memory;
  CachedReader reader, name_reader;
  TypeTable types;
  ObjectReader objects, named_objects;
  NameSearch names;
};

struct Sized {
  Object container;
  ContainerSize size;
};

// The largest containers, by a few samples of each.
std::vector<Sized> largest(Inspection& inspection, const ObjectCensus& census, std::uint64_t least) {
  std::vector<Sized> sized;
  SizeEstimate estimate(inspection.objects);
  for (const std::uint64_t address : candidates(census, inspection.names)) {
    const std::optional<Object> container = inspection.objects.object(address);
    if (!container || !ObjectReader::is_container(*container->type) || ObjectReader::length(*container) == 0) continue;
    ContainerSize quick = estimate.of(*container, kQuickSamples);
    if (quick.bytes >= least / 2) sized.push_back({*container, std::move(quick)});
  }
  std::ranges::sort(sized, std::greater(), [](const Sized& one) { return one.size.bytes; });
  if (sized.size() > MemoryContents::kMaxFillersOfKind) sized.resize(MemoryContents::kMaxFillersOfKind);
  return sized;
}

std::string description(const Object& container, const ContainerSize& size) {
  const std::string& type = container.type->name;
  return (container.type->layout == Layout::kDeque ? "deque" : type) +
         (size.element.empty() ? "" : " of " + size.element);
}

// As it is now: nothing that was read before is used. A list that is moved meanwhile is looked at once more.
std::optional<Sized> measured(Inspection& inspection, std::uint64_t address) {
  for (int i = 0; i < kLooks; ++i) {
    CachedReader reader(inspection.memory, kMaxLookBytes, kLookupBlock);
    ObjectReader objects(reader, inspection.types);
    const std::optional<Object> container = objects.object(address);
    if (!container || !ObjectReader::is_container(*container->type)) return std::nullopt;
    ContainerSize size = SizeEstimate(objects).of(*container);
    if (size.is_measured) return Sized{*container, std::move(size)};
  }
  return std::nullopt;
}

// A container grows between two looks; of a torn one, each look gives another number.
bool is_about(std::uint64_t one, std::uint64_t other) { return std::max(one, other) <= 2 * std::min(one, other); }

bool agree(const Sized& one, const Sized& other) {
  return description(one.container, one.size) == description(other.container, other.size) &&
         is_about(one.size.bytes, other.size.bytes) &&
         is_about(ObjectReader::length(one.container), ObjectReader::length(other.container));
}

// The process runs on while it is read. What two inspections do not agree on was torn, and is not named.
void add_holders(MemoryContents& contents, Inspection& first, Inspection& second, const ObjectCensus& census) {
  const auto least = static_cast<std::uint64_t>(kWorthShowing * static_cast<double>(contents.anonymous_bytes));
  std::vector<ContentFiller> holders;
  for (const Sized& one : largest(first, census, least)) {
    const std::uint64_t address = one.container.address;
    const std::optional<Sized> now = measured(first, address), again = measured(second, address);
    if (!now || !again || !agree(*now, *again)) continue;
    const std::uint64_t bytes = std::min({now->size.bytes, again->size.bytes, contents.anonymous_bytes});
    if (bytes < least) continue;
    const std::string held_as = first.names.name_of(address);
    const bool is_named = held_as == second.names.name_of(address);
    const std::uint64_t count = ObjectReader::length(again->container);
    holders.push_back(
        {ContentKind::kHolder, description(again->container, again->size), is_named ? held_as : "", bytes, count});
  }
  std::ranges::sort(holders, std::greater(), &ContentFiller::bytes);
  contents.fillers.insert(contents.fillers.end(), holders.begin(), holders.end());
}

// Whether a limit of what is read for them was reached.
bool add_all_holders(MemoryContents& contents, const ByteSource& now, const TypeTable& types,
                     const ObjectCensus& census, const NameRoots& roots) {
  Inspection first(now, types, roots), second(now, types, roots);
  add_holders(contents, first, second, census);
  return first.is_used_up() || second.is_used_up();
}

NameRoots roots_of(const AddressSpace& space, const PoolRegions& regions, const ObjectCensus& census) {
  NameRoots roots{census.modules(), possible_frames(space, regions), {}, {}};
  for (const auto& [key, group] : census.calls()) {
    if (group.count <= CallGroup::kMaxKnown) {
      roots.generators.insert(roots.generators.end(), group.known.begin(), group.known.end());
    }
  }
  std::ranges::sort(roots.generators);
  for (const auto& [type, amount] : census.amounts()) {
    if (amount.count == 1 && amount.first != 0 && type->layout == Layout::kOther) {
      roots.instances.push_back(amount.first);
    }
  }
  std::ranges::sort(roots.instances);
  return roots;
}

void note_sample(MemoryContents& contents, const ObjectCensus& census) {
  const SampledUnits& units = census.sampled();
  contents.sampled_ratio = static_cast<double>(units.read) / static_cast<double>(std::max<std::uint64_t>(units.all, 1));
  contents.notes.push_back(
      fmt::format("types are estimates by a sample of {} of {} pools, +- two standard deviations; "
                  "larger objects and holders were not read",
                  units.read, units.all));
}

}  // namespace

Result<MemoryContents> read_contents(const AddressSpace& space, const ByteSource& now, SampleRate rate) {
  const bool is_sample = !rate.is_whole();
  CachedReader reader(space, kMaxLookupBytes, kLookupBlock);
  ASSIGN_OR_RETURN(TypeTable types, TypeTable::find(space, reader));
  ASSIGN_OR_RETURN(PoolRegions regions, PoolRegions::find(space));
  ObjectCensus census(space, types, regions);
  MemoryContents contents;
  contents.runtime = "cpython";
  native::Composition parts(space);
  if (is_sample) {
    RETURN_IF_ERROR(parts.run(nullptr, &regions, nullptr));
  } else {
    RETURN_IF_ERROR(native::add_native(space, parts, contents, &regions, &census));
  }
  RETURN_IF_ERROR(census.scan_pools(rate));
  add_parts(parts, census, is_sample);
  parts.put_into(contents);
  CachedReader name_reader(space, kMaxNameBytes, kNameBlock);
  std::unordered_map<const TypeInfo*, CallsOfFunction> functions;
  if (!is_sample) {
    ObjectReader objects(name_reader, types);
    name_types_by_modules(types, objects, census.modules());
    FrameReader frames(objects, types);
    functions = functions_of(frames, census);
  }
  add_types(contents, census, is_sample, functions);
  add_pool_table(contents, space, types, regions, census);
  bool is_used_up = reader.is_used_up() || name_reader.is_used_up();
  if (is_sample) {
    note_sample(contents, census);
  } else {
    is_used_up |= add_all_holders(contents, now, types, census, roots_of(space, regions, census));
  }
  if (is_used_up) contents.notes.push_back("the read limit was reached: not all names and holders are known");
  if (!space.present().is_complete()) contents.notes.push_back("the page map was too long to be read whole");
  contents.bytes_read = space.bytes_read();
  return contents;
}

}  // namespace oomw::cpython
