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
#include <vector>

#include "events/event.h"
#include "model/memory_model.h"

namespace oomw {

// A contradiction between the kernel and a pod's status.
struct StatusFinding {
  // oom_killed_without_kill: the status has OOMKilled, but no kill was seen in that run's last seconds;
  // kill_with_other_reason: a kill was seen, but the status gives another reason for the end of that run;
  // kill_not_in_status: a process was killed, the container goes on, and its status shows nothing of it.
  std::string kind;
  std::string text;           // for humans; names of the cluster in it are as the API reported them
  ProcessKey victim;          // of the kill concerned; pid 0: there is none
  bool is_withdrawn = false;  // claimed before, and a later status agrees with the kernel
};

// Compares each kill in a pod's container with the status in Kubernetes, once for every run of a container. Pure: no
// clock or file; the same events give the same findings.
//   - the status is some seconds late (more than 20 were seen on a slow node): a kill may precede the end of its run
//     by kBefore, and a kill missing in the status after kWindow counts only if the container's cgroup still exists;
//   - a claim that a later status contradicts is withdrawn: a finding of the same kind, is_withdrawn, once;
//   - nothing is judged while the API cannot be reached, or about the time before the first event;
//   - bounded: kMax runs are remembered, the oldest is forgotten first; about earlier ones nothing is claimed.
class StatusJudge {
 public:
  static constexpr std::size_t kMax = 1'024;
  static constexpr Nanoseconds kBefore = std::chrono::seconds(10);
  static constexpr Nanoseconds kAfter = std::chrono::seconds(3);  // status times are whole seconds
  // < CorrelatorConfig::amend_statuses, so that the claim and its withdrawal still reach the incident.
  static constexpr Nanoseconds kWindow = std::chrono::seconds(35);

  void on_kill(const OomKill& kill, const CgroupState* container);  // once for each victim; null: in no container
  [[nodiscard]] std::vector<StatusFinding> on_pod(const PodSeen& pod);
  [[nodiscard]] std::vector<StatusFinding> tick(MonotonicTime now, const MemoryModel& model);
  // Claims made, and how many of them were withdrawn since, by kind.
  [[nodiscard]] const std::map<std::string, std::uint64_t>& counts() const { return counts_; }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& withdrawn() const { return withdrawn_; }

 private:
  struct Kill {
    MonotonicTime time;  // the newest in this run
    ProcessKey victim;
    CgroupId cgroup;  // the container's
  };
  // The end of one run, as status reports it.
  struct End {
    const PodTermination& how;
    const PodContainer& container;
    const PodSeen& pod;
    MonotonicTime finished;
  };
  void judge(const PodTermination& how, const PodContainer& container, const PodSeen& pod,
             std::vector<StatusFinding>& findings);
  [[nodiscard]] std::optional<StatusFinding> claim_of(const End& end);
  [[nodiscard]] std::optional<StatusFinding> withdrawal_of(const End& end);
  [[nodiscard]] bool is_at_kill(const End& end) const;
  void claim(const std::string& run, const StatusFinding& finding);
  [[nodiscard]] std::optional<StatusFinding> judge_quiet(const std::string& run, const Kill& kill,
                                                         const MemoryModel& model) const;
  void remember(const std::string& run, const Kill& kill);
  bool is_first_look(const std::string& run);

  std::optional<MonotonicTime> begun_;           // nothing is known of earlier times
  std::optional<MonotonicTime> forgot_;          // the newest kill that was forgotten
  std::unordered_map<std::string, Kill> kills_;  // by container id: one run of a container
  std::deque<std::string> by_age_;
  std::deque<std::pair<MonotonicTime, std::string>> waiting_;  // for a status; oldest first
  std::set<std::string> judged_;
  std::deque<std::string> judged_by_age_;
  std::unordered_map<std::string, StatusFinding> claims_;  // by run; not withdrawn
  std::deque<std::string> claims_by_age_;
  std::map<std::string, std::uint64_t> counts_;
  std::map<std::string, std::uint64_t> withdrawn_;
};

}  // namespace oomw
