// SPDX-License-Identifier: Apache-2.0
#include "model/share_owner.h"

#include <vector>

#include "base/text.h"

namespace oomw {
namespace {

constexpr std::size_t kIdChars = 12;  // as `docker ps` shows them

std::string space_of(const ContainerIdentity& identity) {
  if (!identity.pod_namespace.empty()) return "namespace " + printable(identity.pod_namespace, 64);
  return identity.pod_uid.empty() ? "" : "pod " + printable(identity.pod_uid, 64);
}

std::string container_of(const CgroupState& state) {
  const ContainerIdentity& identity = state.identity;
  if (!identity.id.empty()) return "container " + printable(identity.id.substr(0, kIdChars), 64);
  if (!identity.unit.empty()) return "unit " + printable(identity.unit, 64);
  if (!identity.pod_uid.empty()) return "pod " + printable(identity.pod_uid, 64);
  return "cgroup " + printable(state.path.empty() ? std::to_string(state.id.value) : state.path, 128);
}

}  // namespace

ShareOwner share_owner_of(CgroupId cgroup, const MemoryModel& model) {
  const CgroupState* nearest = model.find_cgroup(cgroup);
  if (nearest == nullptr) return {};
  const std::vector<CgroupId> path = model.path_up(cgroup);
  const CgroupState *container = nullptr, *pod = nullptr;  // topmost of each; a pod starts anew below itself
  for (auto it = path.rbegin(); it != path.rend(); ++it) {
    const CgroupState* state = model.find_cgroup(*it);
    if (state == nullptr) continue;
    const bool is_container = !state->identity.id.empty() || !state->identity.unit.empty();
    if (pod == nullptr && !state->identity.pod_uid.empty()) {
      pod = state;
      container = nullptr;
    }
    if (container == nullptr && is_container) container = state;
  }
  const CgroupState* named = container != nullptr ? container : pod != nullptr ? pod : nearest;
  return {container_of(*named), pod != nullptr ? space_of(named->identity) : ""};
}

}  // namespace oomw
