// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/registry_room.h"

#include <algorithm>
#include <map>

namespace oomw {
namespace {

constexpr std::size_t kParts = 4;
constexpr std::size_t kSmallestShare = 64;  // a few places need not be shared out

std::optional<std::size_t> oldest_gone(std::span<const RegistryPlace> places, std::optional<std::string_view> home) {
  std::optional<std::size_t> oldest;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!places[i].gone || (home && places[i].home != *home)) continue;
    if (!oldest || *places[i].gone < *places[*oldest].gone) oldest = i;
  }
  return oldest;
}

std::size_t newest_of(std::span<const RegistryPlace> places, std::string_view home) {
  std::optional<std::size_t> newest;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].home != home) continue;
    if (!newest || places[i].registered > places[*newest].registered) newest = i;
  }
  return newest.value_or(0);
}

}  // namespace

RegistryRoom room_for(std::string_view home, std::span<const RegistryPlace> places, std::size_t most) {
  using Kind = RegistryRoom::Kind;
  std::map<std::string_view, std::size_t> counts;
  for (const RegistryPlace& place : places) ++counts[place.home];
  const std::size_t mine = counts.contains(home) ? counts.at(home) : 0;
  const bool is_over = mine >= std::max(most / kParts, kSmallestShare);
  if (!is_over && places.size() < most) return {};

  const auto gone = oldest_gone(places, is_over ? std::optional(home) : std::nullopt);
  if (gone) return {Kind::kMade, *gone, {}};
  if (is_over) return {Kind::kNone, 0, home};
  const auto largest =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (largest == counts.end() || largest->second <= mine + 1) return {Kind::kNone, 0, {}};
  return {Kind::kMade, newest_of(places, largest->first), largest->first};
}

}  // namespace oomw
