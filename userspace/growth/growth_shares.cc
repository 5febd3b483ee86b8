// SPDX-License-Identifier: Apache-2.0
#include "growth/growth_shares.h"

#include <algorithm>
#include <vector>

namespace oomw {
GrowthShares::Loser GrowthShares::who_gives(std::span<const Place> places, const ShareOwner& newcomer,
                                            MonotonicTime now) {
  struct Owned {
    const Place* idlest = nullptr;
    MonotonicTime climbed{};  // the last of all
    std::size_t count = 0;
  };
  std::map<ShareOwner, Owned> owned;
  std::map<ShareOwner, std::size_t> of_tenants = {{tenant_of(newcomer), 1}};
  for (const Place& place : places) {
    Owned& its = owned[*place.owner];
    if (its.idlest == nullptr || place.climbed < its.idlest->climbed) its.idlest = &place;
    its.climbed = std::max(its.climbed, place.climbed);
    ++its.count;
    ++of_tenants[tenant_of(*place.owner)];
  }
  std::vector<ShareUse> uses;
  for (const auto& [owner, its] : owned) {
    uses.push_back({owner, its.count + (owner == newcomer ? 1 : 0), its.count > 1});
  }
  std::ranges::stable_sort(uses, {}, [&](const ShareUse& use) { return owned.at(use.owner).climbed; });
  if (!owned.contains(newcomer)) uses.push_back({newcomer, 1, false});

  const ShareOwner& owner = uses[who_loses(uses, places.size()).value_or(uses.size() - 1)].owner;
  Loser loser{owner, of_tenants.at(tenant_of(owner)) > 1, {}};
  const auto found = owned.find(owner);
  if (found == owned.end()) return loser;
  const Owned& its = found->second;
  const bool is_own = tenant_of(owner) == tenant_of(newcomer) && (owner == newcomer || its.count == 1);
  if ((is_own || !loser.is_over_share) && now - its.idlest->climbed < kIdle) return loser;
  loser.process = its.idlest->process;
  return loser;
}

const ShareOwner& GrowthShares::key_of(const ShareOwner& owner) const {
  static const ShareOwner kOthers;
  return reading_.contains(owner) || reading_.size() < kMaxOwners ? owner : kOthers;
}

bool GrowthShares::may_read(const ShareOwner& owner, MonotonicTime now) const {
  const auto found = reading_.find(key_of(owner));
  return found == reading_.end() || found->second.may_go(now);
}

void GrowthShares::charge(const ShareOwner& owner, Nanoseconds cost, bool is_fault, MonotonicTime now) {
  std::erase_if(reading_, [&](const auto& entry) { return entry.second.is_idle(now); });
  reading_[key_of(owner)].charge(cost + (is_fault ? kFault : Nanoseconds(0)), kReading, now);
}

}  // namespace oomw
