// SPDX-License-Identifier: Apache-2.0
#include "runtimes/v8/noted_objects.h"

#include <algorithm>

namespace oomw::v8 {
namespace {

// Its shape and its length, what describes it, the context around it. A list has its length in the same place.
constexpr std::size_t kScopeWord = 2, kVariables = 4, kListLength = 3;
constexpr std::size_t kProperties = 1, kItems = 2;

}  // namespace

void NotedObjects::add(std::span<const std::uint64_t> object, std::size_t from, NotedValue value) {
  for (std::size_t i = from; i < std::min<std::size_t>(object.size(), kMaxWords); ++i) {
    if ((object[i] & 3) != 1 || values_.size() >= kMaxValues) continue;
    value.value = object[i];
    value.word = static_cast<std::uint32_t>(i);
    values_.push_back(value);
  }
}

void NotedObjects::note(const Constants& constants, const Shape& shape, std::uint64_t tagged,
                        std::span<const std::uint64_t> object) {
  const Constants::Names& names = constants.names;
  if (!names.is_known) return;
  if (names.is_context(shape.type) && object.size() > kScopeWord) {
    if (contexts_.size() >= kMaxScopes && !contexts_.contains(object[kScopeWord])) return;
    if (contexts_[object[kScopeWord]]++ >= kContextsOfScope) return;
    return add(object, kVariables, {tagged, 0, shape.index, 0, HolderKind::kVariable});
  }
  // A class of many objects may have such a table each: they may take half of the room.
  if (shape.extent == Extent::kProperties && values_.size() < kMaxValues / 2) {
    return add(object, kItems, {tagged, 0, shape.index, 0, HolderKind::kOutside});
  }
  if (shape.type < constants.first_object) return;
  const bool is_table = shape.type == names.type_object && shape.extent == Extent::kMapOfNoted;
  const bool is_list =
      shape.type == names.type_list && object.size() > kListLength && object[kListLength] >> 32 >= kManyEntries;
  const bool is_container = is_table || is_list || shape.type == names.type_js_map || shape.type == names.type_js_set;
  if (is_container && containers_.size() < kMaxContainers) containers_.push_back(tagged);
  if (shape.index >= seen_.size()) seen_.resize(shape.index + 1);
  if (seen_[shape.index] > kFewObjects) return;
  if (++seen_[shape.index] <= kFewObjects) add(object, kProperties, {tagged, 0, shape.index, 0, HolderKind::kField});
}

void NotedObjects::end() { std::ranges::sort(containers_); }

bool NotedObjects::may_be_container(std::uint64_t tagged) const {
  return std::ranges::binary_search(containers_, tagged);
}

}  // namespace oomw::v8
