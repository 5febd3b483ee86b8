// SPDX-License-Identifier: Apache-2.0
#include "model/kill_accounting.h"

#include <algorithm>
#include <utility>

namespace oomw {

KillAccounting::KillAccounting(std::optional<std::map<std::uint64_t, std::uint64_t>> restored)
    : has_restored_(restored.has_value()) {
  if (restored) restored_ = std::move(*restored);
}

KillAccounting::Account* KillAccounting::account_for(CgroupId cgroup) {
  if (const auto found = accounts_.find(cgroup); found != accounts_.end()) return &found->second;
  if (accounts_.size() >= kMaxCgroups) return nullptr;
  Account& account = accounts_[cgroup];
  account.has_base = has_restored_;
  if (const auto before = restored_.find(cgroup.value); before != restored_.end()) account.accounted = before->second;
  return &account;
}

void KillAccounting::on_created(CgroupId cgroup, MonotonicTime time) {
  const bool is_new = !accounts_.contains(cgroup);
  Account* account = account_for(cgroup);
  if (account == nullptr || !is_new) return;
  account->has_base = true;
  account->accounted = 0;
  account->level_at = time;
}

std::uint64_t KillAccounting::Account::missing() const {
  const std::uint64_t explained = accounted + second_counts;
  return kernel > explained ? kernel - explained : 0;
}

void KillAccounting::on_kill_seen(CgroupId victim_cgroup, MonotonicTime time) {
  Account* account = account_for(victim_cgroup);
  if (account == nullptr) return;
  ++account->accounted;
  account->last_seen = std::max(account->last_seen, time);
  if (account->missing() == 0) level(victim_cgroup, *account);
}

void KillAccounting::allow_second_count(CgroupId victim_cgroup) {
  if (const auto found = accounts_.find(victim_cgroup); found != accounts_.end()) ++found->second.second_counts;
}

void KillAccounting::level(CgroupId cgroup, Account& account) {
  if (account.behind_since) behind_.erase(cgroup);
  account.behind_since.reset();
}

UnobservedKills KillAccounting::on_sample(const MemorySampled& sample, MonotonicTime heard_until) {
  if (!sample.kernel_oom_kills) return {};
  Account* account = account_for(sample.cgroup);
  if (account == nullptr) return {};
  const MonotonicTime heard = std::min(sample.time, heard_until);
  account->kernel = *sample.kernel_oom_kills;
  account->is_read = true;
  if (!std::exchange(account->has_base, true)) account->accounted = std::max(account->accounted, account->kernel);
  if (account->missing() != 0) {
    if (!account->behind_since) account->behind_since = sample.time;
    behind_.insert(sample.cgroup);
    return heard - *account->behind_since >= kGrace ? settle(sample.cgroup, *account) : UnobservedKills{};
  }
  level(sample.cgroup, *account);
  account->level_at = sample.time;
  // By now the kernel has counted all that it will count of the kills we saw.
  if (account->last_seen.ns != 0 && heard - account->last_seen >= kGrace) (void)settle(sample.cgroup, *account);
  return {};
}

UnobservedKills KillAccounting::settle(CgroupId cgroup, Account& account) {
  UnobservedKills unobserved{cgroup, account.missing(), account.level_at, {}, {}};
  if (account.behind_since) {
    unobserved.until = *account.behind_since;
    account.level_at = account.behind_since;
  }
  account.accounted = account.kernel;
  account.second_counts = 0;
  level(cgroup, account);
  return unobserved;
}

UnobservedKills KillAccounting::on_removed(CgroupId cgroup, MonotonicTime time) {
  const auto found = accounts_.find(cgroup);
  if (found == accounts_.end()) return {};
  UnobservedKills unobserved;
  if (found->second.missing() != 0) unobserved = settle(cgroup, found->second);
  if (unobserved.kills != 0 && unobserved.until == MonotonicTime{}) unobserved.until = time;
  accounts_.erase(found);
  behind_.erase(cgroup);
  return unobserved;
}

std::vector<UnobservedKills> KillAccounting::take_overdue(MonotonicTime now, MonotonicTime heard_until) {
  std::vector<UnobservedKills> overdue;
  const MonotonicTime heard = std::min(now, heard_until);
  for (const CgroupId cgroup : std::set(behind_)) {
    Account& account = accounts_.at(cgroup);
    if (heard - *account.behind_since >= kGrace) overdue.push_back(settle(cgroup, account));
  }
  return overdue;
}

std::optional<std::uint64_t> KillAccounting::missing_in(CgroupId cgroup) const {
  const auto found = accounts_.find(cgroup);
  return found != accounts_.end() && found->second.is_read ? std::optional(found->second.missing()) : std::nullopt;
}

std::uint64_t KillAccounting::missing() const {
  std::uint64_t sum = 0;
  for (const CgroupId cgroup : behind_) sum += accounts_.at(cgroup).missing();
  return sum;
}

std::map<std::uint64_t, std::uint64_t> KillAccounting::accounted() const {
  std::map<std::uint64_t, std::uint64_t> result;
  for (const auto& [cgroup, account] : accounts_) {
    // The next run must not mistake a second count for a kill that happened while no daemon watched.
    const bool is_explained = account.kernel > account.accounted && account.missing() == 0;
    result[cgroup.value] = is_explained ? account.kernel : account.accounted;
  }
  return result;
}

}  // namespace oomw
