// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/cost_share.h"
#include "base/fair_share.h"
#include "events/ids.h"

namespace oomw {

struct TrendScheduleConfig {
  // A process that has just started is inspected after this; one that was there before, within first_round.
  Nanoseconds first_interval = std::chrono::seconds(1);
  Nanoseconds first_round = std::chrono::seconds(10);
  // After that, at each eighth of its age: as often in its first hour as in the ten after it, and a dozen times within
  // the 20 seconds that a fast leak lives.
  double age_share = 1.0 / 8;
  Nanoseconds min_interval = std::chrono::seconds(2);
  Nanoseconds max_interval = std::chrono::minutes(10);

  // A process is near its limit when this share of what was left at its last reading is gone. A steady leak is then
  // inspected at each eighth of its remaining time, however fast it is, until that is less than min_interval: ten
  // times between a minute and 15 seconds before its end, and seven times in the last 15 seconds.
  double near_step = 1.0 / 8;
  // Treated alike: a process whose container has given back this share of its memory. Where few readings come by age,
  // those that growth brings forward would show every rise and no fall.
  bool follows_falls = false;

  // Shares of one core, for all processes together. Once a quarter of the burst is owed, each process gets an equal
  // part, and costlier ones are inspected less often, max_interval permitting. Those near their limit share the second
  // figure in addition. The bar is 0.001 for both.
  double max_core_share = 0.0004;
  double near_core_share = 0.0002;
  // May be spent ahead of both shares: a first round over 40 processes. Beyond it only processes near their limit are
  // inspected, beyond twice that none, until it is paid off.
  Nanoseconds burst = std::chrono::milliseconds(30);
  // Beside all that, a container that would reach its limit within `soon` may spend so much of a minute
  // (base/cost_share.h), and all of them together this share of a core, so much of it ahead: else many that end in one
  // minute have two readings each, and one that was killed and comes back has none. One that has spent some finds half
  // of what is ahead only, so that none uses up what the next one needs.
  Nanoseconds soon = std::chrono::minutes(2);
  Nanoseconds own = std::chrono::milliseconds(30);
  double own_core_share = 0.0002;
  Nanoseconds own_ahead = std::chrono::milliseconds(200);
  std::size_t max_due = 4;  // per call, which is once a second
};

// The memory use of a process's container, against the limit that will stop it.
struct ContainerMemory {
  std::uint64_t used_bytes = 0;
  std::uint64_t limit_bytes = 0;
  MonotonicTime as_of = {};
  ShareOwner owner = {};  // pays for readings; need not be told below half of the limit
};

// Decides when each process is inspected for its trend. Pure: the same calls give the same schedule; jitter (a
// tenth) comes from the pid, so that a hundred replicas started together are not read together. Core thread.
class TrendSchedule {
 public:
  static constexpr std::size_t kMaxOwners = 1'024;  // containers that lately paid from `own`
  struct Process {
    ProcessKey key;
    MonotonicTime started;
  };

  explicit TrendSchedule(TrendScheduleConfig config) : config_(config) {}

  // All processes that can be read now: new ones join, missing ones leave.
  void set_processes(const std::vector<Process>& processes, MonotonicTime now);
  // Brings the next inspection forward where the limit has come near.
  void note_memory(ProcessKey process, ContainerMemory memory);
  // The next `max` processes in turn, or all if there are fewer; the caller notes their memory.
  [[nodiscard]] std::vector<ProcessKey> take_turn(std::size_t max);
  // The processes to inspect now, those near their limit first, then the longest overdue; at most max_due and as the
  // burst allows. Each is under way until done(), or given up after twice the longest interval.
  [[nodiscard]] std::vector<ProcessKey> take_due(MonotonicTime now);
  // The inspection ended, with any result; `cost` is the CPU time that it took. was_read: the heap was also read, so
  // what is left to the limit counts from here on.
  void done(ProcessKey process, Nanoseconds cost, MonotonicTime now, bool was_read = true);
  // Somebody else has read and paid for it.
  void note_read(ProcessKey process, MonotonicTime now);
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::uint64_t brought_forward() const { return brought_forward_; }  // inspections, by note_memory()

 private:
  struct Entry {
    MonotonicTime started;
    MonotonicTime due;   // while an inspection is under way: when it counts as lost
    MonotonicTime last;  // end of the last inspection; none: `due` is that of the first
    Nanoseconds cost{};  // of the last inspection
    bool is_under_way = false;
    bool is_near = false;
    bool pays_own = false;  // the inspection under way
    ShareOwner owner;
    std::optional<std::uint64_t> left_bytes;          // to the limit, as last noted
    std::optional<std::uint64_t> left_bytes_at_read;  // at the last reading; as first noted until there is one
    // As last noted before it came near: its pace counts from there.
    std::uint64_t left_bytes_when_calm = 0;
    MonotonicTime calm_at;
    std::uint64_t limit_bytes = 0;
  };
  void pay_off(MonotonicTime now);
  [[nodiscard]] bool has_moved(const Entry& entry) const;
  [[nodiscard]] Nanoseconds calm_interval(const Entry& entry, MonotonicTime now) const;
  [[nodiscard]] Nanoseconds near_interval(const Entry& entry) const;
  static void note_what_is_left(Entry& entry);
  [[nodiscard]] bool ends_soon(const Entry& entry, MonotonicTime now) const;
  [[nodiscard]] bool has_own(const Entry& entry, MonotonicTime now) const;
  void pay(Entry& entry, Nanoseconds cost, MonotonicTime now);
  [[nodiscard]] Nanoseconds affordable(Nanoseconds cost, std::size_t sharers, double core_share) const;
  [[nodiscard]] Entry new_entry(const Process& process, MonotonicTime now) const;

  const TrendScheduleConfig config_;
  std::map<ProcessKey, Entry> entries_;
  ProcessKey turn_;         // the last one of take_turn()
  Nanoseconds debt_{};      // spent ahead of the shares
  Nanoseconds own_debt_{};  // and of own_core_share
  std::map<ShareOwner, CostShare> own_;
  MonotonicTime paid_;
  std::uint64_t brought_forward_ = 0;
};

}  // namespace oomw
