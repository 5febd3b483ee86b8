// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "correlate/kill_evidence.h"
#include "correlate/number_index.h"

namespace oomw {

// The same for every victim of one decision: OomKill::decision and the trigger's pid.
using DecisionKey = std::pair<std::int64_t, std::int32_t>;

struct OpenIncident {
  std::uint64_t number = 0;  // in the order of opening
  KillEvidence evidence;
  bool written = false;
  bool resting = false;            // see OpenIncidents::rest()
  bool lacks_memory_stat = false;  // as last written
  bool lacks_reclaim = false;
  unsigned amendments = 0;
  // The newest decision merged into it. Decisions come one after the other (the kernel's oom_lock), so further victims
  // belong to the newest.
  std::optional<DecisionKey> merged_decision;
  bool is_repeat_merged = false;  // that decision is only counted: KillEvidence::repeats
  std::optional<MonotonicTime> amend_due;
  MonotonicTime due;  // its place in the agenda; schedule() sets it
};

// The incidents that still accept victims, captures and context, found by any id that an event names.
//   - no call walks over all of them: each costs O(log n) for every incident it returns, and returns at most kMaxGiven
//     (the newest); looked_at() counts those returned, for tests;
//   - pointers stay valid until close() of that very incident;
//   - a resting incident is found only by its victims and its container.
class OpenIncidents {
 public:
  // Decisions of one cgroup within one amend window. More are a flood, in which only the newest are considered.
  static constexpr std::size_t kMaxGiven = 16;

  OpenIncident& open(KillEvidence evidence);
  void add_victim(OpenIncident& incident, const OomKill& kill);
  // The newest that counts an unnamed victim of this cgroup; nullptr = none.
  [[nodiscard]] OpenIncident* that_lacks_a_name(CgroupId victim_cgroup);
  // The cgroup of the unnamed victim, if exactly one incident has any.
  [[nodiscard]] CgroupId only_place_that_lacks_a_name() const;
  void name_victim(OpenIncident& incident, const ResolvedKill& late, const MemoryModel& model);
  void rest(OpenIncident& incident);
  void close(OpenIncident& incident);

  [[nodiscard]] OpenIncident* of_decision(const OomKill& kill);  // exact; nullptr without a decision
  [[nodiscard]] OpenIncident* of_victim(std::int32_t pid);       // the newest that lists it
  // Newest first.
  [[nodiscard]] std::vector<OpenIncident*> of_owner(CgroupId owner) { return given(by_owner_, owner); }
  [[nodiscard]] std::vector<OpenIncident*> of_group(CgroupId group) { return given(by_group_, group); }
  // Those with this cgroup as owner, container, victim's cgroup or source of figures.
  [[nodiscard]] std::vector<OpenIncident*> about(CgroupId cgroup) { return given(by_cgroup_, cgroup); }
  // Those of this very container; resting ones too, because a status of its pod may come late.
  [[nodiscard]] std::vector<OpenIncident*> of_container(CgroupId container) { return given(by_container_, container); }
  // How many have this owner and this container.
  [[nodiscard]] std::size_t count_at(CgroupId owner, CgroupId container) const;
  // Makes the newest of those (there is one) stand for another decision too, that of `kill`.
  OpenIncident& merge_decision(const OomKill& kill, CgroupId owner, CgroupId container);
  // Further victims of this kill's decision are repeats as well.
  void repeat_decision(OpenIncident& incident, const OomKill& kill);
  [[nodiscard]] static bool is_repeat(const OpenIncident& incident, const OomKill& kill);
  [[nodiscard]] OpenIncident* of_number(std::uint64_t number) { return find(number); }  // nullptr: closed

  void schedule(OpenIncident& incident, MonotonicTime due);
  [[nodiscard]] OpenIncident* next_due();
  [[nodiscard]] std::optional<MonotonicTime> next_due_time() const;

  [[nodiscard]] OpenIncident& oldest() { return open_.begin()->second; }
  [[nodiscard]] std::size_t size() const { return open_.size(); }
  [[nodiscard]] std::uint64_t looked_at() const { return looked_at_; }

 private:
  using Place = std::pair<CgroupId, CgroupId>;  // owner, container

  [[nodiscard]] static std::optional<DecisionKey> decision_of(const OomKill& kill);
  [[nodiscard]] static std::set<CgroupId> cgroups_of(const KillEvidence& evidence);
  [[nodiscard]] OpenIncident* find(std::uint64_t number);
  [[nodiscard]] std::vector<OpenIncident*> given(const NumberIndex<CgroupId>& index, CgroupId key);
  void point_decision(OpenIncident& incident, const OomKill& kill, bool is_repeat);
  void index_victim(const OpenIncident& incident, const OomKill& kill);
  void index_places(const OpenIncident& incident);
  void unindex_places(const OpenIncident& incident);

  std::map<std::uint64_t, OpenIncident> open_;  // by number: the oldest first
  std::uint64_t next_number_ = 0;
  std::map<DecisionKey, std::uint64_t> by_decision_;
  std::unordered_map<std::int32_t, std::uint64_t> by_victim_;
  NumberIndex<CgroupId> by_owner_;
  NumberIndex<CgroupId> by_group_;
  NumberIndex<CgroupId> by_cgroup_;
  NumberIndex<Place> by_place_;
  NumberIndex<CgroupId> by_container_;
  std::map<std::uint64_t, CgroupId> nameless_;  // incidents that count an unnamed victim
  std::set<std::pair<MonotonicTime, std::uint64_t>> agenda_;
  std::uint64_t looked_at_ = 0;
};

}  // namespace oomw
