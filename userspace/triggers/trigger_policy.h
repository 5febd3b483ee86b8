// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "events/event.h"
#include "model/memory_model.h"

namespace oomw {

struct TriggerConfig {
  std::uint32_t prepare_percent = 50;  // endpoints are searched for from here on
  std::vector<std::uint32_t> capture_percents = {80, 90, 95};
  Nanoseconds time_to_limit = std::chrono::milliseconds(500);
  std::uint64_t min_headroom_bytes = 2u << 20;           // below it a capture (http) would cause the kill
  double nonreclaimable_ratio = 0.5;                     // of the limit; below it usage is page cache and is left alone
  Nanoseconds cooldown = std::chrono::seconds(30);       // per container and trigger
  std::uint32_t budget = 12;                             // captures per container ...
  Nanoseconds budget_window = std::chrono::minutes(10);  // ... in this time
};

enum class TriggerAction { kNone, kPrepare, kCapture, kSkip };

struct TriggerDecision {
  TriggerAction action = TriggerAction::kNone;
  CaptureTrigger trigger{};
  CaptureReason reason = CaptureReason::kNone;  // kSkip: kPageCache, kCooldown or kBudget
  bool may_allocate = true;  // false: too little headroom for a method that allocates in the container (http)
};

// A cgroup's memory against its limit, as far as it is known at the moment of deciding.
struct MemoryReading {
  std::uint64_t usage_bytes = 0;
  std::uint64_t limit_bytes = 0;
  std::optional<std::uint64_t> nonreclaimable_bytes;
};

// How much a capture may still allocate inside the container (0.3-0.8 MB measured for a plain heap profile): the free
// part, and half of what the kernel could reclaim. Not all of it: mapped and dirty pages are reclaimed last. A
// cache-full container stays at 100 % usage for weeks, so the free part alone would forbid every capture there.
[[nodiscard]] std::uint64_t headroom_bytes(const MemoryReading& reading);

// Decides when to capture: a pure function of the crossing, the model and earlier decisions (no clock, no I/O). Judged
// by non-reclaimable memory, because usage at 100 % is normal for page cache:
//   - a crossing of level L counts if the non-reclaimable part is at least L - 10 points of the
//     limit and at least nonreclaimable_ratio of it. Usage 99 % with 40 % anon: left alone at
//     every level. Usage 80 % with 72 % anon (binary and logs are the rest): captured;
//   - one that does not count is skipped as "page_cache", and from then on on_sample() watches the non-reclaimable
//     part itself: a cache-full container with 86 % anon will never cross a usage level again, but it did cross 80 %
//     non-reclaimable;
//   - if it is not known what is reclaimable (the files could not be read), capture anyway: a needless profile costs
//     milliseconds, a missing one the incident;
//   - a fast leak predicted to hit the limit while it is still below nonreclaimable_ratio only
//     prepares: the levels above follow at once and show more;
//   - too little headroom forbids only methods that allocate inside the container, not reading it from outside;
//   - cool-down per trigger, so one climb captures at 80, 90 and 95 and a sawtooth does not;
//   - one crossing leads to one decision: the limit of a pod with one container is that container's
//     (model/limit_scope.h). Both report the same crossing, the pod about 1 ms ahead; the second report leads to
//     nothing.
// History is kept per container, or else cgroup, until forget(), for at most MemoryModel::kMaxCgroups.
class TriggerPolicy {
 public:
  explicit TriggerPolicy(TriggerConfig config);
  // Call after the model has the crossing and a MemorySampled of e.cgroup that is newer.
  [[nodiscard]] TriggerDecision on_watermark(const WatermarkCrossed& e, const MemoryModel& model);
  // A later sample of a cgroup that was skipped as page cache: kCapture when its non-reclaimable
  // share has reached a capture level.
  [[nodiscard]] TriggerDecision on_sample(const MemorySampled& e, const MemoryModel& model);
  void forget(CgroupId cgroup);  // removed
  [[nodiscard]] const TriggerConfig& config() const { return config_; }

 private:
  struct Report {
    CgroupId cgroup;
    MonotonicTime time;
  };
  struct History {
    std::vector<MonotonicTime> captures;  // within budget_window
    std::map<CaptureTrigger, MonotonicTime> last;
    bool waiting_for_nonreclaimable = false;
    std::map<CaptureTrigger, Report> reported;  // the newest that was not a second report
    std::uint32_t fired_level = 0;              // by on_sample(), until the share falls kRearmPoints below it
  };
  static constexpr std::uint32_t kCacheAllowancePoints = 10;
  static constexpr std::uint32_t kRearmPoints = 5;
  // Also without a cool-down: reports of pod and container within this time are one crossing.
  static constexpr Nanoseconds kSameCrossing = std::chrono::seconds(1);
  [[nodiscard]] TriggerDecision decide(History& history, const WatermarkCrossed& e, const MemoryModel& model) const;
  [[nodiscard]] bool is_second_report(History& history, CaptureTrigger trigger, const WatermarkCrossed& e) const;
  [[nodiscard]] std::uint32_t capture_level(std::uint32_t percent) const;  // 0 = below all of them
  [[nodiscard]] bool is_page_cache(const MemoryReading& reading, std::uint32_t level_percent) const;
  [[nodiscard]] bool is_prediction_too_early(const WatermarkCrossed& e, const MemoryReading& reading) const;
  [[nodiscard]] bool is_cooling_down(const History& history, CaptureTrigger trigger, MonotonicTime now) const;
  [[nodiscard]] TriggerDecision judge(History& history, CaptureTrigger trigger, MonotonicTime now,
                                      const MemoryReading& reading) const;
  [[nodiscard]] History* history_of(CgroupId cgroup);  // nullptr when full
  TriggerConfig config_;
  std::unordered_map<CgroupId, History> history_;
};

}  // namespace oomw
