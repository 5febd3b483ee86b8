// SPDX-License-Identifier: Apache-2.0
#include "runtimes/cpython/sizes.h"

#include <algorithm>
#include <map>

namespace oomw::cpython {
namespace {

constexpr std::uint64_t kMostInside = 16;        // entries of a container inside an element: more are sampled
constexpr std::uint32_t kManyReferences = 1000;  // shared by so many: its own bytes at most
constexpr int kEnoughSamples = 8;
constexpr int kTries = 16;  // of one sample

}  // namespace

// Code, and the globals of its module, are the program's, whatever refers to them: functions do, and frames without
// being counted.
bool SizeEstimate::is_followed(const Object& object) {
  if (object.references >= kManyReferences) return false;
  if (object.type->layout != Layout::kDict) {
    return object.type->layout != Layout::kType && object.type->layout != Layout::kModule;
  }
  const std::optional<KeyTable> keys = objects_.keys_of(object);
  const std::optional<DictEntry> first = keys ? objects_.entry(object, *keys, 0) : std::nullopt;
  return !first || objects_.identifier(first->key) != "__name__";
}

std::uint64_t SizeEstimate::random(std::uint64_t below) {
  state_ = state_ * 6364136223846793005 + 1442695040888963407;
  return below == 0 ? 0 : (state_ >> 20) % below;
}

double SizeEstimate::shares_inside(const Object& object, int depth) {
  if (depth >= kMaxDepth) return 0;
  double sum = 0;
  const std::uint64_t places = objects_.places(object);
  if (places == 0) {
    for (const std::uint64_t address : objects_.attributes(object)) sum += share_of(address, depth + 1);
    return sum;
  }
  const std::uint64_t parts = std::min(places, kMostInside), stride = parts % 7 == 0 ? 5 : 7;
  std::uint64_t looked_at = 0;
  for (; looked_at < parts; ++looked_at) {
    // One of each part of it, from all over it: what was seen before counts nothing.
    const std::uint64_t part = looked_at * stride % parts, place = part * places / parts + random(places / parts);
    const double before = sum;
    for (const std::uint64_t address : objects_.elements(object, place)) sum += share_of(address, depth + 1);
    if (!is_full()) continue;
    // One of which only a part was seen would make all of them smaller than they are.
    if (looked_at > 0) sum = before;
    looked_at += looked_at == 0;
    break;
  }
  return sum * static_cast<double>(places) / static_cast<double>(looked_at);
}

double SizeEstimate::share_of(std::uint64_t address, int depth) {
  if (is_full() || !seen_.insert(address).second) return 0;
  const std::optional<Object> object = objects_.object(address);
  if (!object) return 0;
  double bytes = static_cast<double>(objects_.own_bytes(*object));
  if (is_followed(*object)) bytes += shares_inside(*object, depth);
  const double of_others = static_cast<double>(object->references) - object->type->list_references;
  return bytes / std::max<double>(of_others, 1);
}

// A set's table is mostly empty, a dict's has places of keys that were deleted: another place is tried then.
std::vector<std::uint64_t> SizeEstimate::any_element(const Object& container, std::uint64_t places) {
  std::vector<std::uint64_t> found;
  for (int i = 0; i < kTries && found.empty(); ++i) found = objects_.elements(container, random(places));
  return found;
}

ContainerSize SizeEstimate::of(const Object& container, int samples) {
  ContainerSize size;
  const std::uint64_t places = objects_.places(container), length = ObjectReader::length(container);
  if (places == 0) return size;
  const bool is_all = places <= static_cast<std::uint64_t>(samples);
  std::map<const TypeInfo*, int> types;
  double sum = 0;
  int sound = 0;
  for (int i = 0; i < (is_all ? static_cast<int>(places) : samples); ++i) {
    const std::vector<std::uint64_t> found =
        is_all ? objects_.elements(container, static_cast<std::uint64_t>(i)) : any_element(container, places);
    const std::optional<Object> first = found.empty() ? std::nullopt : objects_.object(found.front());
    // What is not known is as the others are: memory that was mapped after the reading began cannot be read.
    const bool is_sound =
        first && std::ranges::all_of(found, [&](std::uint64_t at) { return objects_.object(at).has_value(); });
    if (!is_sound) continue;
    seen_ = {container.address};
    double bytes = 0;
    for (const std::uint64_t address : found) bytes += share_of(address, 0);
    if (objects_.is_used_up()) break;
    sum += bytes;
    ++sound;
    ++types[first->type];
  }
  const auto enough = std::min<std::uint64_t>(length, static_cast<std::uint64_t>(std::min(kEnoughSamples, samples)));
  size.is_measured = sound > 0 && static_cast<std::uint64_t>(sound) >= enough;
  size.bytes = objects_.own_bytes(container);
  if (sound > 0) size.bytes += static_cast<std::uint64_t>(sum / sound * static_cast<double>(length));
  for (const auto& [type, count] : types) {
    if (count * 2 > sound) size.element = type->name;
  }
  return size;
}

}  // namespace oomw::cpython
