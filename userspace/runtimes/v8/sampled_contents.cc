// SPDX-License-Identifier: Apache-2.0
#include "runtimes/v8/sampled_contents.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include <fmt/format.h>

#include "base/text.h"
#include "runtimes/native/composition.h"
#include "runtimes/v8/heap_pages.h"
#include "runtimes/v8/map_search.h"
#include "runtimes/v8/shape_names.h"

namespace oomw::v8 {
namespace {

// Objects of one name.
struct TypeSums {
  SampledSum bytes;
  double of_page = 0;  // of the page at hand: its shapes belong together, since they vary together
  std::uint64_t count = 0, large_count = 0, large_bytes = 0;
};

class TypeEstimates {
 public:
  TypeEstimates(ShapeNames& names, const Census& census, std::size_t shapes) : of_shape_(shapes, nullptr) {
    for (const NamedShape& one : names.of(census.amounts())) of_shape_[one.amount->shape] = &sums_[one.name];
    for (const SampledPage& page : census.sampled()) add(page);
    for (const SampledPage::Amount& amount : census.large().amounts) {
      TypeSums* sums = of_shape_[amount.shape];
      if (sums == nullptr) continue;
      sums->large_count += amount.count;
      sums->large_bytes += amount.bytes;
    }
  }

  // An estimate that is no larger than its error says nothing.
  [[nodiscard]] std::vector<ContentFiller> fillers(const SampledUnits& units) const {
    std::vector<ContentFiller> types;
    for (const auto& [name, sums] : sums_) {
      const Estimate estimate = estimate_of(sums.bytes, units);
      const auto count = static_cast<std::uint64_t>(static_cast<double>(sums.count) * units.scale());
      ContentFiller filler{ContentKind::kType, name, "", estimate.value + sums.large_bytes, count + sums.large_count};
      filler.error_bytes = estimate.error;
      if (estimate.error < filler.bytes) types.push_back(std::move(filler));
    }
    return types;
  }

 private:
  void add(const SampledPage& page) {
    touched_.clear();
    for (const SampledPage::Amount& amount : page.amounts) {
      TypeSums* sums = of_shape_[amount.shape];
      if (sums == nullptr) continue;
      sums->count += amount.count;
      touch(*sums, amount.bytes);
    }
    if (page.buffer_bytes > 0) touch(sums_[kArrayBuffer], page.buffer_bytes);
    for (TypeSums* sums : touched_) {
      sums->bytes.add(sums->of_page);
      sums->of_page = 0;
    }
  }
  void touch(TypeSums& sums, std::uint64_t bytes) {
    if (sums.of_page == 0) touched_.push_back(&sums);
    sums.of_page += static_cast<double>(bytes);
  }

  std::map<std::string, TypeSums> sums_;
  std::vector<TypeSums*> of_shape_;  // nullptr: without a name
  std::vector<TypeSums*> touched_;   // by the page at hand
};

void add_sampled_parts(const Census& census, const SampledUnits& units, native::Composition& parts) {
  SampledSum free, other;
  for (const SampledPage& page : census.sampled()) {
    free.add(static_cast<double>(page.free_bytes));
    other.add(static_cast<double>(page.other_bytes));
  }
  const Estimate about_free = estimate_of(free, units), about_other = estimate_of(other, units);
  const std::uint64_t owned = parts.owned_bytes(), other_bytes = std::min(about_other.value, owned);
  const std::uint64_t free_bytes = std::min(about_free.value, owned - other_bytes);
  const auto proof = [&](std::uint64_t error) {
    return fmt::format("about, +- {}, by a sample of {} of {} pages with heads of V8's", human_bytes(error), units.read,
                       units.all);
  };
  parts.add("V8 heap: objects", "v8", owned - other_bytes - free_bytes, proof(about_free.error + about_other.error));
  parts.add("V8 heap: free", "v8", free_bytes, proof(about_free.error));
  parts.add("V8 heap: other pages", "v8", other_bytes, proof(about_other.error));
}

}  // namespace

void keep_largest(std::vector<ContentFiller>& found, MemoryContents& contents) {
  std::ranges::sort(found, std::greater(), &ContentFiller::bytes);
  if (found.size() > MemoryContents::kMaxFillersOfKind) found.resize(MemoryContents::kMaxFillersOfKind);
  contents.fillers.insert(contents.fillers.end(), found.begin(), found.end());
}

void note_doubts(const Shapes& shapes, const Census& census, MemoryContents& contents) {
  if (shapes.is_full()) {
    contents.notes.push_back(
        fmt::format("objects of more than {} shapes: those of other shapes are not counted", Shapes::kMaxShapes));
  }
  if (census.is_trusted()) return;
  contents.notes.push_back(
      fmt::format("objects are not known: they account for {} of the {} of V8's pages (a collection may have run)",
                  human_bytes(census.object_bytes_sum() + census.free_bytes()), human_bytes(census.page_bytes())));
}

Result<MemoryContents> read_sample(const AddressSpace& space, const Constants& constants,
                                   std::span<const PageRange> blocks, SampleRate rate) {
  ASSIGN_OR_RETURN(MapSearch maps, MapSearch::begin(space, constants, blocks));
  ASSIGN_OR_RETURN(HeapPages pages, HeapPages::find(space, blocks));
  SampledUnits units;
  SampleChoice choice(rate);
  std::vector<HeapPage> chosen;
  for (const HeapPage& page : pages.pages()) {
    if (!page.is_large()) ++units.all;
    if (page.is_large() || choice.takes_next()) chosen.push_back(page);
  }
  Census census(space, constants, maps);
  RETURN_IF_ERROR(census.walk_sample(chosen));
  units.read = census.sampled().size();
  MemoryContents contents;
  contents.runtime = "v8";
  native::Composition parts(space);
  RETURN_IF_ERROR(parts.run(nullptr, &pages, nullptr));
  add_sampled_parts(census, units, parts);
  parts.put_into(contents);
  contents.sampled_ratio = static_cast<double>(units.read) / static_cast<double>(std::max<std::uint64_t>(units.all, 1));
  note_doubts(maps.shapes(), census, contents);
  if (census.is_trusted()) {
    ShapeNames names(space, constants, maps.shapes());
    std::vector<ContentFiller> types = TypeEstimates(names, census, maps.shapes().all().size()).fillers(units);
    keep_largest(types, contents);
    if (names.is_used_up()) contents.notes.push_back("the read limit was reached: not all names are known");
  }
  contents.notes.push_back(
      fmt::format("types are estimates by a sample of {} of {} pages of V8, +- two standard deviations, dead objects "
                  "among them; holders and blocks of malloc were not read",
                  units.read, units.all));
  contents.bytes_read = space.bytes_read();
  return contents;
}

}  // namespace oomw::v8
