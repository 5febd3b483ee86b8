// SPDX-License-Identifier: Apache-2.0
#include "model/kill_ledger.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace oomw {

namespace {

constexpr std::size_t kHexIdLength = 64;

bool is_hex_id(const std::string& id) { return id.size() == kHexIdLength && is_lower_hex(id); }

// A nameless container's id is new with every restart, so its runtime's name stands in for it.
std::string container_label(const CgroupState& state) {
  const ContainerIdentity& who = state.identity;
  if (who.is_sandbox) return "_sandbox";  // the same under every runtime; some name it like a container
  if (!who.name.empty()) return who.name;
  if (!who.unit.empty()) return who.unit;
  if (is_hex_id(who.id)) return who.runtime.empty() ? "_unnamed" : who.runtime;
  if (!who.id.empty()) return who.id;
  if (MemoryModel::is_pods_own(state)) return "";  // its last component is the pod's uid
  const std::string last(base_name(state.path));
  return last.empty() ? "_root" : last;
}

KillLabels overflow_of(const std::string& scope) { return {"", "", "_other", scope}; }

// FNV-1a: it is stored, and std::hash may change with the library.
std::uint64_t hash_of(const KillLabels& labels) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const std::string* part : {&labels.k8s_namespace, &labels.pod, &labels.container, &labels.scope}) {
    for (const char c : *part) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    hash = (hash ^ 0xff) * 0x100000001b3ULL;  // no byte of UTF-8
  }
  return hash;
}

}  // namespace

KillLabels labels_of(CgroupId victim, LimitScope scope, const MemoryModel& model) {
  const CgroupState* state = model.container_of(victim);
  if (state == nullptr) state = model.find_cgroup(victim);
  KillLabels labels;
  labels.scope = to_string(scope);
  labels.container = "_unknown";
  if (state == nullptr) return labels;
  labels.k8s_namespace = state->identity.pod_namespace;
  labels.pod = state->identity.pod_name;
  labels.container = container_label(*state);
  return labels;
}

std::set<KillLabels> living_labels(const MemoryModel& model) {
  std::set<KillLabels> living;
  for (const auto& [id, state] : model.cgroups()) {
    if (state.removed_at) continue;
    KillLabels labels = labels_of(id, LimitScope::kUnknown, model);
    labels.scope.clear();
    living.insert(std::move(labels));
  }
  return living;
}

void KillLedger::add(const KillLabels& labels, std::uint64_t count, MonotonicTime now) {
  advance(now);
  if (const auto known = counts_.find(labels); known != counts_.end()) {
    known->second += count;
    if (const auto seen = seen_.find(labels); seen != seen_.end()) seen->second = as_of_.value_or(MonotonicTime{});
  } else if (seen_.size() < kMaxSets || make_room(labels.k8s_namespace)) {
    put(labels, count, as_of_.value_or(MonotonicTime{}));
  } else {
    folded_ += count;
    counts_[overflow_of(labels.scope)] += count;
    hide(labels);
  }
}

void KillLedger::advance(MonotonicTime now) {
  if (now == MonotonicTime{}) return;
  if (!as_of_) {
    for (auto& [labels, seen] : seen_) seen.ns += now.ns;
  }
  as_of_ = std::max(as_of_.value_or(now), now);
}

bool KillLedger::make_room(const std::string& k8s_namespace) {
  KillLabels loser = least_recent(nullptr);
  if (unseen(loser) <= kReadable) {
    const auto most = std::ranges::max_element(sets_by_namespace_, {}, [](const auto& entry) { return entry.second; });
    const auto own = sets_by_namespace_.find(k8s_namespace);
    if (most->second <= (own == sets_by_namespace_.end() ? 0 : own->second) + 1) return false;
    loser = least_recent(&most->first);
  }
  hide(loser);  // its container may be alive, or come back
  retire(loser);
  return true;
}

KillLabels KillLedger::least_recent(const std::string* k8s_namespace) const {
  auto oldest = seen_.end();
  for (auto it = seen_.begin(); it != seen_.end(); ++it) {
    if (k8s_namespace != nullptr && it->first.k8s_namespace != *k8s_namespace) continue;
    if (oldest == seen_.end() || it->second < oldest->second) oldest = it;
  }
  return oldest->first;
}

void KillLedger::put(const KillLabels& labels, std::uint64_t count, MonotonicTime seen) {
  counts_[labels] += count;
  hidden_.erase(hash_of(labels));
  if (labels == overflow_of(labels.scope)) return;
  if (seen_.emplace(labels, seen).second) ++sets_by_namespace_[labels.k8s_namespace];
}

void KillLedger::retire(const KillLabels& labels) {
  const auto set = counts_.find(labels);
  retired_ += set->second;
  const auto sets = sets_by_namespace_.find(labels.k8s_namespace);
  if (--sets->second == 0) sets_by_namespace_.erase(sets);
  seen_.erase(labels);
  counts_.erase(set);
}

void KillLedger::hide(const KillLabels& labels) {
  if (hidden_.size() < kMaxHidden) {
    hidden_.insert(hash_of(labels));
  } else {
    is_hidden_full_ |= !hidden_.contains(hash_of(labels));
  }
}

// A pod that comes back after a day begins at 0 like any other: its old series ended long before. A unit or a named
// container does come back, so its set stays as long as there is room.
bool KillLedger::refresh(MonotonicTime now, const std::set<KillLabels>& living) {
  advance(now);
  std::vector<KillLabels> gone;
  for (auto& [labels, seen] : seen_) {
    if (living.contains({labels.k8s_namespace, labels.pod, labels.container, ""})) {
      seen = *as_of_;
    } else if (!labels.pod.empty() && *as_of_ - seen > kKept) {
      gone.push_back(labels);
    }
  }
  for (const KillLabels& labels : gone) retire(labels);
  return !gone.empty();
}

bool KillLedger::may_show_zero(const KillLabels& labels) const {
  return !is_hidden_full_ && !hidden_.contains(hash_of(labels));
}

Nanoseconds KillLedger::unseen(const KillLabels& labels) const {
  const auto seen = seen_.find(labels);
  return seen == seen_.end() ? Nanoseconds(0) : as_of_.value_or(MonotonicTime{}) - seen->second;
}

void KillLedger::restore(const KillLabels& labels, std::uint64_t count, Nanoseconds unseen) {
  put(labels, count, MonotonicTime{} - std::max(unseen, Nanoseconds(0)));
}

void KillLedger::restore_rest(std::uint64_t folded, std::uint64_t retired, const std::vector<std::uint64_t>& hidden,
                              bool is_hidden_full) {
  folded_ = folded;
  retired_ = retired;
  is_hidden_full_ = is_hidden_full || hidden.size() > kMaxHidden;
  hidden_ = {hidden.begin(), hidden.begin() + static_cast<std::ptrdiff_t>(std::min(hidden.size(), kMaxHidden))};
}

}  // namespace oomw
