// SPDX-License-Identifier: Apache-2.0
#include "model/kill_ledger.h"

#include "base/text.h"

namespace oomw {

namespace {

constexpr std::size_t kHexIdLength = 64;

bool is_hex_id(const std::string& id) { return id.size() == kHexIdLength && is_lower_hex(id); }

std::string last_component(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

// A nameless container's id is new with every restart, so its runtime's name stands in for it.
std::string container_label(const CgroupState& state) {
  const ContainerIdentity& who = state.identity;
  if (who.is_sandbox) return "_sandbox";  // the same under every runtime; some name it like a container
  if (!who.name.empty()) return who.name;
  if (!who.unit.empty()) return who.unit;
  if (is_hex_id(who.id)) return who.runtime.empty() ? "_unnamed" : who.runtime;
  if (!who.id.empty()) return who.id;
  if (MemoryModel::is_pods_own(state)) return "";  // its last component is the pod's uid
  const std::string last = last_component(state.path);
  return last.empty() ? "_root" : last;
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

void KillLedger::add(const KillLabels& labels, std::uint64_t count) {
  auto it = counts_.find(labels);
  if (it == counts_.end() && counts_.size() >= kMaxSets) {
    folded_ += count;
    // One set per scope, so that the sums by scope stay correct: at most five beyond kMaxSets.
    it = counts_.try_emplace(KillLabels{"", "", "_other", labels.scope}).first;
  } else if (it == counts_.end()) {
    it = counts_.try_emplace(labels).first;
  }
  it->second += count;
}

}  // namespace oomw
