// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
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
// Those of every cgroup that is there now, without a scope. O(cgroups).
[[nodiscard]] std::set<KillLabels> living_labels(const MemoryModel& model);

// Kills per label set: it outlives containers and, through LedgerFile, the daemon. One count per victim. Every kill is
// in exactly one of counts() and retired(). Pure, core thread. Times are CLOCK_MONOTONIC.
//   - at most kMaxSets sets, and one {"", "", "_other", scope} for each scope: kills whose set finds no room are
//   counted
//     there (folded);
//   - a pod's set is retired kKept after its container was last seen: killed, or alive. A retired set is gone, and its
//     kills are in retired() alone. In another series they would look like new kills;
//   - room is made first by sets not seen for kReadable, which no scrape needs any more; then the namespace with the
//   most
//     sets gives up the one not seen for longest, unless the new set is its own;
//   - a living container whose kills are not in its own set must not be shown at 0: may_show_zero(). As hashes, of
//   which
//     kMaxHidden are kept; beyond that no container without a set is shown at 0.
class KillLedger {
 public:
  static constexpr std::size_t kMaxSets = 2'000;
  static constexpr std::size_t kMaxHidden = 4'096;
  static constexpr Nanoseconds kReadable = std::chrono::hours(1);
  static constexpr Nanoseconds kKept = std::chrono::hours(24);

  // now: not known to callers that only carry counts over; then no time passes.
  void add(const KillLabels& labels, std::uint64_t count = 1, MonotonicTime now = {});
  // living: the containers that are there now, without a scope. False: nothing was retired. O(sets).
  bool refresh(MonotonicTime now, const std::set<KillLabels>& living);

  [[nodiscard]] const std::map<KillLabels, std::uint64_t>& counts() const { return counts_; }
  [[nodiscard]] std::uint64_t folded() const { return folded_; }
  [[nodiscard]] std::uint64_t retired() const { return retired_; }
  [[nodiscard]] bool may_show_zero(const KillLabels& labels) const;

  // For LedgerFile. Ages, since CLOCK_MONOTONIC starts anew with each boot; the time without a daemon does not count.
  [[nodiscard]] Nanoseconds unseen(const KillLabels& labels) const;
  [[nodiscard]] std::vector<std::uint64_t> hidden() const { return {hidden_.begin(), hidden_.end()}; }
  [[nodiscard]] bool is_hidden_full() const { return is_hidden_full_; }
  void restore(const KillLabels& labels, std::uint64_t count, Nanoseconds unseen);
  void restore_rest(std::uint64_t folded, std::uint64_t retired, const std::vector<std::uint64_t>& hidden,
                    bool is_hidden_full);

 private:
  using Counts = std::map<KillLabels, std::uint64_t>;
  void advance(MonotonicTime now);
  [[nodiscard]] bool make_room(const std::string& k8s_namespace);
  [[nodiscard]] KillLabels least_recent(const std::string* k8s_namespace) const;
  void put(const KillLabels& labels, std::uint64_t count, MonotonicTime seen);
  void retire(const KillLabels& labels);
  void hide(const KillLabels& labels);

  Counts counts_;
  std::map<KillLabels, MonotonicTime> seen_;              // of the sets in counts_ that may be retired
  std::map<std::string, std::size_t> sets_by_namespace_;  // of the same
  std::set<std::uint64_t> hidden_;
  bool is_hidden_full_ = false;
  std::optional<MonotonicTime> as_of_;  // nullopt: times are still ages below zero, none was passed yet
  std::uint64_t folded_ = 0;
  std::uint64_t retired_ = 0;
};

}  // namespace oomw
