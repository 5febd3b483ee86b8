// SPDX-License-Identifier: Apache-2.0
#include "model/kill_accounting.h"

#include <algorithm>

namespace oomw {

KillAccounting::KillAccounting(std::optional<std::map<std::uint64_t, std::uint64_t>> restored)
    : has_restored_(restored.has_value()) {
  if (restored) restored_ = std::move(*restored);
}

KillAccounting::Account* KillAccounting::account_for(CgroupId cgroup) {
  if (const auto found = accounts_.find(cgroup); found != accounts_.end()) return &found->second;
  if (accounts_.size() >= kMaxCgroups) return nullptr;
  return &accounts_[cgroup];
}

void KillAccounting::on_created(CgroupId cgroup) { (void)account_for(cgroup); }

void KillAccounting::on_kill_seen(CgroupId victim_cgroup) {
  const bool known = accounts_.contains(victim_cgroup);
  Account* account = account_for(victim_cgroup);
  if (account == nullptr) return;
  // A kill before the first sample: what earlier runs accounted for still is the base.
  if (!known && restored_.contains(victim_cgroup.value)) account->accounted = restored_[victim_cgroup.value];
  ++account->accounted;
  if (account->accounted >= account->kernel) account->behind_since.reset();
}

std::uint64_t KillAccounting::on_sample(const MemorySampled& sample, MonotonicTime heard_until) {
  if (!sample.kernel_oom_kills) return 0;
  const bool known = accounts_.contains(sample.cgroup);
  Account* account = account_for(sample.cgroup);
  if (account == nullptr) return 0;
  account->kernel = *sample.kernel_oom_kills;
  if (!known) {
    const auto before = restored_.find(sample.cgroup.value);
    if (before != restored_.end()) {
      account->accounted = before->second;
    } else {
      account->accounted = has_restored_ ? 0 : account->kernel;
    }
  }
  if (account->kernel <= account->accounted) {
    account->behind_since.reset();
    return 0;
  }
  if (!account->behind_since) account->behind_since = sample.time;
  return std::min(sample.time, heard_until) - *account->behind_since >= kGrace ? settle(*account) : 0;
}

std::uint64_t KillAccounting::settle(Account& account) {
  const std::uint64_t missing = account.kernel - account.accounted;
  account.accounted = account.kernel;
  account.behind_since.reset();
  unobserved_ += missing;
  return missing;
}

std::uint64_t KillAccounting::on_removed(CgroupId cgroup) {
  const auto found = accounts_.find(cgroup);
  if (found == accounts_.end()) return 0;
  const std::uint64_t missing = found->second.kernel > found->second.accounted ? settle(found->second) : 0;
  accounts_.erase(found);
  return missing;
}

std::map<std::uint64_t, std::uint64_t> KillAccounting::accounted() const {
  std::map<std::uint64_t, std::uint64_t> result;
  for (const auto& [cgroup, account] : accounts_) result[cgroup.value] = account.accounted;
  return result;
}

}  // namespace oomw
