// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "events/event.h"
#include "model/limit_scope.h"
#include "model/memory_model.h"

namespace oomw {

// The label set of oom_kills_total. Never a pid or a container id: bounded cardinality.
struct KillLabels {
  std::string k8s_namespace;
  std::string pod;
  // Kubernetes or runtime name, else unit, else the cgroup's last component; "" = the pod's own cgroup
  std::string container;
  std::string scope;  // container | pod | ancestor | node | unknown
  friend auto operator<=>(const KillLabels&, const KillLabels&) = default;
};

[[nodiscard]] KillLabels labels_of(CgroupId victim, LimitScope scope, const MemoryModel& model);

// Kills per label set, over all time: it outlives containers and, through LedgerFile, the daemon.
// One count per victim. At most kMaxSets sets; later new ones fold into container="_other".
class KillLedger {
 public:
  static constexpr std::size_t kMaxSets = 2'000;
  void add(const KillLabels& labels, std::uint64_t count = 1);
  [[nodiscard]] const std::map<KillLabels, std::uint64_t>& counts() const { return counts_; }
  [[nodiscard]] std::uint64_t folded() const { return folded_; }

 private:
  std::map<KillLabels, std::uint64_t> counts_;
  std::uint64_t folded_ = 0;
};

}  // namespace oomw
