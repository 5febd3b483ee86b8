// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "events/event.h"
#include "incidents/incident.h"
#include "incidents/incident_builder.h"
#include "model/memory_model.h"
#include "model/victim_set.h"

namespace oomw {

struct CorrelatorConfig {
  // Victims of one decision come within microseconds; a second decision for the same limit takes
  // at least a failed allocation later. 5 ms also lets a capture in flight land.
  Nanoseconds settle = std::chrono::milliseconds(5);
  // Captures and samples that arrive this long after the kill still amend the incident.
  Nanoseconds amend = std::chrono::seconds(5);
  Nanoseconds capture_lookback = std::chrono::minutes(30);
  std::size_t max_captures = 8;        // per incident: newest, but always the best of each method
  std::size_t max_remembered = 2'000;  // captures held for kills to come, all cgroups
  std::size_t max_open = 1'024;        // incidents open at once; more merge into one per owner, counted
};

// Joins kills, captures, series and context into incidents. A pure function of events and time:
// core thread, no clock, no I/O.
//   - one incident per OOM decision: kills with the same limit owner and trigger within `settle`
//     merge into one; a second report of the same victim (other source, or mark_victim twice) is
//     ignored;
//   - take_ready() gives an incident when it has settled, and again (same id, amended) when
//     something that belongs to it arrived within `amend`.
class Correlator {
 public:
  explicit Correlator(CorrelatorConfig config);
  // After model.apply(event).
  void apply(const Event& event, const MemoryModel& model);
  // Incidents due at `now`; wall_offset_ns = CLOCK_REALTIME - CLOCK_MONOTONIC.
  [[nodiscard]] std::vector<Incident> take_ready(MonotonicTime now, const MemoryModel& model,
                                                 std::int64_t wall_offset_ns);
  // When take_ready() will have something; nullopt = nothing open.
  [[nodiscard]] std::optional<MonotonicTime> next_due() const;
  [[nodiscard]] bool is_new_victim(const OomKill& kill) const;  // before apply(): first report?
  [[nodiscard]] std::uint64_t merged_kills() const { return merged_; }

 private:
  struct Open {
    KillEvidence evidence;
    bool written = false;
    bool lacks_memory_stat = false;  // as last written
    bool lacks_reclaim = false;
    std::optional<MonotonicTime> amend_due;
  };
  // What arrives together is written together: an amendment rewrites two files.
  static constexpr Nanoseconds kAmendDelay = std::chrono::milliseconds(20);
  // A group kill of thousands goes on for long; the incident is written meanwhile and amended.
  static constexpr int kMaxSettles = 4;

  void on_kill(const OomKill& kill, const MemoryModel& model);
  void on_capture(const CaptureFinished& capture, const MemoryModel& model);
  void on_context(const Event& event);
  void remember(const CaptureFinished& capture);
  void complete_victim(const OomKill& again);
  void amend_soon(Open& open, MonotonicTime now) const;
  void close_expired(MonotonicTime now);
  void make_room();
  [[nodiscard]] Open* find_open(const OomKill& kill, CgroupId owner, bool any_time);
  [[nodiscard]] MonotonicTime due_of(const Open& open) const;
  [[nodiscard]] CaptureSelection selection() const;

  CorrelatorConfig config_;
  std::deque<Open> open_;
  std::deque<CaptureFinished> captures_;
  VictimSet seen_victims_;
  std::uint64_t merged_ = 0;
};

}  // namespace oomw
