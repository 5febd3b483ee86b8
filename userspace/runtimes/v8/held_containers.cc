// SPDX-License-Identifier: Apache-2.0
#include "runtimes/v8/held_containers.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace oomw::v8 {
namespace {

constexpr std::uint64_t kPlacesOfSmall = 256;
constexpr std::uint32_t kPropertiesWord = 1;
constexpr std::string_view kNoObject = "system";  // undefined, null, true, a place that is empty
constexpr std::size_t kQuickEntries = 4, kEntries = HeldSizes::kMaxSamples;

}  // namespace

void HeldContainers::add(std::uint64_t value, HolderPlace place) {
  if (found_.size() >= kMaxFound || !noted_.may_be_container(value)) return;
  const std::size_t kind = 2 * static_cast<std::size_t>(place.kind) + (place.is_inside ? 1 : 0);
  if (++names_of_[kind][value] > kMaxNames) return;
  const auto container = container_at(names_, constants_, value);
  if (!container) return;
  if (container->count >= NotedObjects::kManyEntries) {
    found_.push_back({value, *container, place});
  } else if (!place.is_inside) {
    add_inside(*container, place);
  }
}

// What stands in a small container; its keys are data and not shown.
void HeldContainers::add_inside(const Container& container, HolderPlace place) {
  place.is_inside = true;
  const std::uint64_t places = std::min(container.places, kPlacesOfSmall);
  for (std::uint64_t i = 0; i < places && places_inside_ < kMaxPlacesInside; ++i, ++places_inside_) {
    const std::vector<std::uint64_t> entry = entry_of(names_, container, i);
    if (!entry.empty()) add(entry.front(), place);
  }
}

void HeldContainers::find_containers() {
  for (const NotedValue& noted : noted_.values()) {
    if (noted.kind != HolderKind::kField || noted_.are_few(noted.shape)) {
      add(noted.value, {noted.holder, noted.word, noted.kind, noted.value});
    }
  }
}

// A program has many tables that never grow.
void HeldContainers::keep_largest() {
  std::ranges::stable_sort(found_, std::greater(), [](const Found& found) { return found.container.count; });
  found_.resize(std::min(found_.size(), kMaxMeasured));
}

// Of a table of properties the object that it belongs to, one of few of its class.
void HeldContainers::find_owners() {
  std::unordered_map<std::uint64_t, std::uint64_t> owners;
  for (const Found& found : found_) {
    if (found.place.kind == HolderKind::kOutside) owners.emplace(found.place.holder, 0);
  }
  for (const NotedValue& noted : noted_.values()) {
    const auto table = owners.find(noted.value);
    const bool is_its = noted.kind == HolderKind::kField && noted.word == kPropertiesWord;
    if (table != owners.end() && is_its && noted_.are_few(noted.shape)) table->second = noted.holder;
  }
  for (Found& found : found_) {
    if (found.place.kind == HolderKind::kOutside) found.place.holder = owners[found.place.holder];
  }
  std::erase_if(found_, [](const Found& found) { return found.place.holder == 0; });
}

// A variable tells more than another object.
void HeldContainers::find_holders() {
  std::unordered_set<std::uint64_t> objects;
  for (const Found& found : found_) {
    if (found.place.kind != HolderKind::kVariable) objects.insert(found.place.holder);
  }
  for (const HolderKind kind : {HolderKind::kVariable, HolderKind::kField}) {
    for (const NotedValue& noted : noted_.values()) {
      if (noted.kind != kind || !objects.contains(noted.value)) continue;
      if (kind == HolderKind::kVariable || noted_.are_few(noted.shape)) {
        of_objects_.emplace(noted.value, HolderPlace{noted.holder, noted.word, noted.kind, noted.value});
      }
    }
  }
}

// "Map of Session": what most entries are.
std::string HeldContainers::description(HolderNames& names, const Container& container,
                                        const std::vector<std::vector<std::uint64_t>>& entries) {
  std::string text(container.kind);
  if (container.is_of_numbers) return text + " of number";
  std::map<std::string, std::size_t> kinds;
  for (const std::vector<std::uint64_t>& entry : entries) ++kinds[names.value_name(entry.front())];
  for (const auto& [kind, count] : kinds) {
    if (count * 2 > entries.size() && kind != kNoObject) text += " of " + kind;
  }
  return text;
}

std::vector<std::vector<std::uint64_t>> HeldContainers::entries_of(const Container& container, std::size_t most) {
  std::vector<std::vector<std::uint64_t>> entries;
  const std::size_t looked_at = container.is_of_numbers ? 0 : std::min<std::uint64_t>(container.places, most);
  for (std::size_t i = 0; i < looked_at; ++i) {
    std::vector<std::uint64_t> entry = entry_of(names_, container, i * container.places / looked_at);
    if (entry.empty()) continue;
    // Of an array all places are counted as entries, also those without an object.
    const bool may_be_empty = container.places > container.count;
    const Shape* key = may_be_empty ? names_.shape_of(entry.back()) : nullptr;
    if (key != nullptr && nature_of(constants_, *key) == Nature::kOther) continue;  // a place that is empty
    const bool is_torn = (entry.front() & 3) == 1 && names_.shape_of(entry.front()) == nullptr;
    if (!is_torn) entries.push_back(std::move(entry));
  }
  return entries;
}

std::optional<ContentFiller> HeldContainers::measure(const Found& found, double least, double most) {
  const Container& container = found.container;
  const auto object = of_objects_.find(found.place.holder);
  const HolderPlace* of_object = object == of_objects_.end() ? nullptr : &object->second;
  std::string held_as = first_.text(found.place, of_object);
  if (held_as.empty() || held_as != second_.text(found.place, of_object)) return std::nullopt;
  const auto bytes_by = [&](const std::vector<std::vector<std::uint64_t>>& entries) {
    const double held = sizes_.average_of_entries(entries) * static_cast<double>(container.count);
    return std::min(static_cast<double>(container.bytes) + held, most);
  };
  if (bytes_by(entries_of(container, kQuickEntries)) < least / 4) return std::nullopt;
  const std::vector<std::vector<std::uint64_t>> entries = entries_of(container, kEntries);
  if (entries.empty() && !container.is_of_numbers) return std::nullopt;
  const double bytes = bytes_by(entries);
  std::string name = description(first_, container, entries);
  if (bytes < least || name != description(second_, container, entries)) return std::nullopt;
  return ContentFiller{ContentKind::kHolder, std::move(name), std::move(held_as), static_cast<std::uint64_t>(bytes),
                       container.count};
}

std::vector<ContentFiller> HeldContainers::find(double least, double most) {
  find_containers();
  find_owners();
  keep_largest();
  find_holders();
  // One that has several names has the first of them that is sound: rather its own than that of what it stands in.
  std::ranges::stable_sort(found_, {},
                           [](const Found& found) { return std::pair(found.tagged, found.place.is_inside); });
  std::vector<ContentFiller> fillers;
  std::uint64_t last = 0;
  for (const Found& found : found_) {
    if (found.tagged == last) continue;
    auto filler = measure(found, least, most);
    if (!filler) continue;
    last = found.tagged;
    fillers.push_back(std::move(*filler));
  }
  return fillers;
}

}  // namespace oomw::v8
