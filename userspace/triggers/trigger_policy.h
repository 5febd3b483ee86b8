// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "events/event.h"
#include "model/memory_model.h"

namespace oomw {

struct TriggerConfig {
  std::uint32_t prepare_percent = 50;  // find endpoints from here on
  std::vector<std::uint32_t> capture_percents = {80, 90, 95};
  Nanoseconds time_to_limit = std::chrono::milliseconds(500);
  std::uint64_t min_headroom_bytes = 2u << 20;           // below it a capture kills (http)
  double nonreclaimable_ratio = 0.5;                     // of the limit; below, it is page cache: leave it alone
  Nanoseconds cooldown = std::chrono::seconds(30);       // per container and trigger name
  std::uint32_t budget = 12;                             // captures per container ...
  Nanoseconds budget_window = std::chrono::minutes(10);  // ... in this time
};

enum class TriggerAction { kNone, kPrepare, kCapture, kSkip };

struct TriggerDecision {
  TriggerAction action = TriggerAction::kNone;
  std::string trigger;  // "watermark_90", "time_to_limit"
  std::string reason;   // kSkip: "page_cache", "headroom", "cooldown", "budget"
};

// When to capture: a pure function of the crossing, the model and what was decided before (no
// clock, no I/O). Judged by non-reclaimable memory: usage at 100 % is normal for page cache, so a
// crossing whose fresh sample says mostly reclaimable is skipped (and may fire later, when
// memory_refreshed() shows that the non-reclaimable part itself rose above the level).
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
  struct History {
    std::vector<MonotonicTime> captures;                  // within budget_window
    std::unordered_map<std::string, MonotonicTime> last;  // by trigger name
    bool waiting_for_nonreclaimable = false;
  };
  [[nodiscard]] TriggerDecision judge(CgroupId cgroup, const std::string& trigger, MonotonicTime now,
                                      const CgroupState& state);
  TriggerConfig config_;
  std::unordered_map<CgroupId, History> history_;
};

}  // namespace oomw
