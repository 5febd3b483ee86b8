// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/alarm.h"
#include "base/event_loop.h"
#include "base/unique_fd.h"
#include "system/cgroup_fs.h"
#include "system/file_events.h"
#include "system/level_latch.h"
#include "system/level_registrar.h"

namespace oomw {

// Watermarks from files. v1: one eventfd per limited cgroup, registered for each level with cgroup.event_control. It
// fires as early as a kernel program; LevelRegistrar explains why registering takes time. v2 has no such interface:
// memory.current is read each poll_slow, and each poll_fast above kFastRatio (about 1 us per reading, fd kept open).
// An ancestor with a limit counts as a limited cgroup of its own. Core thread.
class UsageWatch {
 public:
  static constexpr double kFastRatio = 0.6;

  UsageWatch(EventLoop& loop, const CgroupFs& cgroups, const Clock& clock, const FileEventsConfig& config,
             std::function<void(Event)> deliver);
  ~UsageWatch();
  UsageWatch(const UsageWatch&) = delete;
  UsageWatch& operator=(const UsageWatch&) = delete;

  void watch(CgroupId id, const std::string& path, std::uint64_t limit_bytes);  // or its limit changed
  void unwatch(CgroupId id);
  [[nodiscard]] std::size_t size() const { return watched_.size(); }
  [[nodiscard]] std::size_t pending() const { return pending_.size(); }  // asked for, not watched yet
  [[nodiscard]] std::uint64_t refused() const { return refused_; }       // over max_watched, or out of fds

 private:
  struct Watched {
    UniqueFd usage, event;
    WatchId event_watch;
    std::uint64_t limit_bytes = 0;
    LevelLatch latch;
    std::uint64_t usage_bytes = 0;  // as last read
    MonotonicTime slope_from;       // where the next slope begins; 0 = nothing read yet
    std::uint64_t slope_from_bytes = 0;
    std::optional<double> growth_bytes_per_second;
  };

  // v1: in progress at the registrar. The number shows whether the answer is still wanted.
  struct Pending {
    std::uint64_t number = 0;
    std::uint64_t limit_bytes = 0;
  };

  [[nodiscard]] bool is_known(CgroupId id, std::uint64_t limit_bytes) const;
  void watch_by_polling(CgroupId id, const std::string& path, std::uint64_t limit_bytes);
  void watch_by_event(CgroupId id, const std::string& path, std::uint64_t limit_bytes);
  void handle_announced(CgroupId id, std::uint64_t number,
                        Result<std::shared_ptr<LevelRegistrar::Announced>> announced);
  [[nodiscard]] std::vector<std::uint64_t> levels_of(std::uint64_t limit_bytes) const;
  void refuse(const Error& error);
  void on_event(CgroupId id);
  bool check(CgroupId id);  // whether a level was reported
  void check_again();
  void update_growth(Watched& watched, std::uint64_t usage_bytes);
  [[nodiscard]] WatermarkCrossed crossing_of(CgroupId id, const Watched& watched, std::uint32_t level) const;
  void poll_all();
  void poll_near();

  EventLoop& loop_;
  const CgroupFs& cgroups_;
  const Clock& clock_;
  const FileEventsConfig& config_;
  std::function<void(Event)> deliver_;
  std::unordered_map<CgroupId, Watched> watched_;
  std::vector<CgroupId> near_;
  WatchId slow_timer_, fast_timer_;
  std::uint64_t refused_ = 0;
  std::unordered_map<CgroupId, Pending> pending_;
  std::uint64_t next_number_ = 1;
  std::optional<LevelRegistrar> registrar_;  // v1
  std::set<CgroupId> again_;                 // announced, and found below the level
  Alarm again_alarm_;
};

}  // namespace oomw
