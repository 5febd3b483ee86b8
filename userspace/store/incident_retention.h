// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/clock_steadiness.h"
#include "base/rate_limit.h"
#include "base/result.h"
#include "store/fair_retention.h"
#include "store/incident_index.h"
#include "store/retention_file.h"

namespace oomw {

struct Pruned {
  std::map<LossReason, std::size_t> incidents;
  std::size_t leftovers = 0;      // unfinished directories of dead writers
  bool is_more = false;           // there is more to do: call again soon
  bool is_age_held = false;       // nothing was dropped for its age, because the wall clock is in doubt
  std::uint64_t clock_jumps = 0;  // found by this pruning: 0 or 1
  [[nodiscard]] std::size_t dropped() const;
};

// Whether the incident with this directory name must stay for now, because somebody has yet to deliver it. Such
// incidents are not among those that are counted and chosen from; who holds them has a bound of its own.
using IsHeld = std::function<bool(const std::string& name)>;

// Prunes <data-dir>/incidents by choose_losses(), and remembers in retention.json what that needs and what was dropped.
//   - facts of incidents that an older version or another process wrote are read from incident.json, at most kMaxReads
//     a call (0.1 s); until all are known nothing is dropped;
//   - nothing is dropped for its age while the wall clock is in doubt (ClockSteadiness). Count and bytes still hold;
//   - what was dropped is logged, one line a minute at most, which names the workloads that lost most.
// Not thread-safe: the store calls it under its lock. An incident to drop is renamed first and then removed.
class IncidentRetention {
 public:
  static constexpr std::size_t kMaxReads = 500;
  static constexpr std::size_t kMaxLosses = 2'000;

  explicit IncidentRetention(std::string data_dir) : data_dir_(std::move(data_dir)), root_(data_dir_ + "/incidents") {}

  // The clocks when this run began, before its first incident: a jump until the first pruning is found as well. Once.
  void note_start(const ClockReading& start) { start_ = start; }
  // now.boot_id "" = there is nothing to compare the wall clock with, and it is believed.
  [[nodiscard]] Result<Pruned> prune(IncidentIndex& index, const Retention& retention, const ClockReading& now,
                                     const IsHeld& is_held = {});

 private:
  void load(IncidentIndex& index);
  void save(const IncidentIndex& index, WallTime now);
  void read_facts(IncidentIndex& index) const;
  void judge_clock(const IncidentIndex& index, const ClockReading& now, Pruned& pruned);
  void drop_incidents(IncidentIndex& index, const Retention& retention, const ClockReading& now, const IsHeld& is_held,
                      Pruned& pruned);
  [[nodiscard]] std::size_t drop_leftovers(const IncidentIndex& index, const ClockReading& now, bool is_age_held) const;
  void log_dropped(const ClockReading& now);

  const std::string data_dir_, root_;
  bool is_loaded_ = false;
  RetentionState state_;  // its incidents: as saved last
  ClockSteadiness clock_;
  std::optional<ClockReading> start_;  // until it was observed
  std::uint64_t saved_facts_version_ = 0;
  WallTime saved_at_;
  std::optional<WallTime> sizes_measured_;       // when a pruning last had all sizes measured, or the first pruning
  std::map<std::string, std::size_t> unlogged_;  // dropped since the last line, by workload
  RateLimit log_limit_{1, std::chrono::minutes(1)};
};

}  // namespace oomw
