// SPDX-License-Identifier: Apache-2.0
#include "base/fair_share.h"

#include <algorithm>
#include <map>
#include <vector>

namespace oomw {
namespace {

struct Part {
  std::uint64_t cost = 0;
  bool has_spare = false;
};

// Index of the part that loses, given that all together are over `bound`.
std::size_t largest_over_share(const std::vector<Part>& parts, std::uint64_t bound) {
  const std::uint64_t share = bound / parts.size();
  std::optional<std::size_t> largest, largest_with_spare;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto is_larger = [&](std::optional<std::size_t> than) { return !than || parts[i].cost > parts[*than].cost; };
    if (is_larger(largest)) largest = i;
    if (parts[i].has_spare && parts[i].cost > share && is_larger(largest_with_spare)) largest_with_spare = i;
  }
  return largest_with_spare.value_or(*largest);
}

}  // namespace

std::string to_text(const ShareOwner& owner) {
  const std::string container = owner.container.empty() ? "a container that is not known" : owner.container;
  return owner.space.empty() ? container : container + " in " + owner.space;
}

std::optional<std::size_t> who_loses(std::span<const ShareUse> uses, std::uint64_t bound) {
  std::map<ShareOwner, std::size_t> tenants;
  std::vector<Part> costs;
  std::uint64_t total = 0;
  for (const ShareUse& use : uses) {
    const auto [tenant, is_new] = tenants.emplace(tenant_of(use.owner), costs.size());
    if (is_new) costs.emplace_back();
    costs[tenant->second].cost += use.cost;
    costs[tenant->second].has_spare |= use.has_spare;
    total += use.cost;
  }
  if (total <= bound || uses.empty()) return std::nullopt;

  const std::size_t loser = largest_over_share(costs, bound);
  std::vector<Part> parts;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (tenants.at(tenant_of(uses[i].owner)) != loser) continue;
    parts.push_back({uses[i].cost, uses[i].has_spare});
    places.push_back(i);
  }
  return places[largest_over_share(parts, bound / costs.size())];
}

std::optional<std::size_t> entry_to_drop(std::span<const ShareEntry> entries, std::uint64_t bound) {
  std::map<ShareOwner, std::vector<std::size_t>> places;  // by owner, oldest first
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    places[*entries[i].owner].push_back(i);
    total += entries[i].cost;
  }
  if (total <= bound || entries.empty()) return std::nullopt;
  std::vector<ShareUse> uses;
  for (const auto& [owner, mine] : places) {
    ShareUse& use = uses.emplace_back(ShareUse{owner, 0, mine.size() > 1});
    for (const std::size_t place : mine) use.cost += entries[place].cost;
  }
  // Ties go to the owner whose newest is the oldest.
  std::stable_sort(uses.begin(), uses.end(), [&](const ShareUse& a, const ShareUse& b) {
    return places.at(a.owner).back() < places.at(b.owner).back();
  });
  const std::vector<std::size_t>& mine = places.at(uses[*who_loses(uses, bound)].owner);
  return mine.size() > 2 ? mine[1] : mine.front();
}

}  // namespace oomw
