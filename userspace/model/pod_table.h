// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "events/event.h"
#include "model/workload.h"

namespace oomw {

// The Kubernetes API's report on one run of a container and on its pod. A copy: the pod's next status replaces it.
struct PodFacts {
  MonotonicTime told_at;
  std::string name_space, name, uid, node, owner_kind, owner_name;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> resource_attributes;  // of its annotations, without their prefix
  std::optional<PodContainer> container;  // of this id, else of this name and maybe of another run; none: not known
  bool is_cut = false;
  Workload workload;
  // Of this very run; none as long as no status names its id.
  std::optional<std::uint32_t> restart_count;
  std::optional<PodTermination> last_termination;  // how the previous run ended

  // Adds what `later`, a report on the same run, has beyond this one. True if it added anything.
  bool learn(const PodFacts& later);
};

// The pods of this node, and the cgroups of their containers. Part of MemoryModel.
//   - a container is found by its id, which is new with every run; until its status has reached the API, by its pod's
//     uid (of a static pod: the one that its cgroups bear) and its name;
//   - data true of one run only (restart_count, the previous end) is never taken from another run's status. The one
//     exception is proved: a run that the status names as the previous one had one restart less;
//   - a pod that is gone stays until expire(), because a kill may have ended it;
//   - at most kMax pods, what does not fit is counted; its reader bounds each to 4 KB.
class PodTable {
 public:
  static constexpr std::size_t kMax = 5'000;

  void on(const PodSeen& e);
  void on(const PodGone& e);
  void on(const PodsCurrent& e);
  // The identity that a cgroup's path and bundle give.
  void on_container(CgroupId cgroup, const ContainerIdentity& identity);
  void on_cgroup_erased(CgroupId cgroup, const ContainerIdentity& identity);
  void expire(MonotonicTime oldest_kept);

  [[nodiscard]] CgroupId cgroup_of(const std::string& container_id) const;  // none: not known
  // Cgroups whose path or bundle names this pod: its own, its sandbox's, its containers'.
  [[nodiscard]] std::set<CgroupId> cgroups_of(const PodSeen& pod) const;
  [[nodiscard]] std::set<CgroupId> cgroups_of_uid(const std::string& uid) const;
  [[nodiscard]] const PodSeen* find_pod(const ContainerIdentity& identity) const;
  [[nodiscard]] const PodContainer* find_container(const std::string& container_id) const;
  [[nodiscard]] std::optional<PodFacts> facts_of(const ContainerIdentity& identity) const;
  // Adds the names that the path and the bundle do not have.
  void complete(ContainerIdentity& identity) const;

  // Whether the API ever reported anything, and whether this table has its current state.
  [[nodiscard]] bool is_told() const { return is_told_; }
  [[nodiscard]] bool is_current() const { return is_current_; }
  [[nodiscard]] std::size_t size() const { return pods_.size(); }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  struct Place {
    std::string uid;
    std::size_t index = 0;  // in the pod's containers
  };
  void unindex(const PodSeen& pod);
  void forget(const std::string& uid, CgroupId cgroup);
  [[nodiscard]] const PodContainer* container_in(const PodSeen& pod, const ContainerIdentity& identity) const;

  std::unordered_map<std::string, PodSeen> pods_;             // by uid
  std::unordered_map<std::string, Place> containers_;         // by container id
  std::unordered_map<std::string, std::string> static_uids_;  // -> uid
  std::unordered_map<std::string, CgroupId> cgroups_;         // by container id
  std::unordered_map<std::string, std::set<CgroupId>> cgroups_of_uid_;
  std::deque<std::pair<MonotonicTime, std::string>> gone_;
  bool is_told_ = false;
  bool is_current_ = false;
  std::uint64_t dropped_ = 0;
};

}  // namespace oomw
