// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/event_loop.h"
#include "base/result.h"
#include "events/event.h"
#include "system/cgroup_fs.h"
#include "system/file_events.h"

namespace oomw {

struct WatermarkGateConfig {
  bool enabled = true;
  // Limits, each with two open files on v1; the daemon lowers it to a quarter of the files it may open.
  std::size_t max_watched = 4'096;
  // A container that grows passes its next level within this time, or so slowly that it is reported in time.
  Nanoseconds hold = std::chrono::seconds(10);
};

// Detaches the hook on page faults (KernelSource::page_fault_hook) while no cgroup comes near a limit. With the
// tracepoint backends the hook costs a load of page faults 3 % and one of fork and exec 1 to 2 %; a program that
// returns at once costs 1.6 %.
//   - Attached from the start; again whenever the usage of a cgroup with a limit rises past one of the levels, or past
//     kAheadPercent before the first, and for `hold` after that.
//   - FileEvents reports this: on v1 the kernel announces it as it happens, on v2 usage is read each kPoll.
//   - A new cgroup also keeps the hook attached: its limit may not be known before its first slow reading.
//   - Where a limit cannot be watched it stays attached.
// Price: a lowered limit of an old cgroup is noticed with the sampler's next reading, after 10 s at most; on v2, usage
// that rises from kAheadPercent below the first level within kPoll is reported at the level it has then.
// Core thread.
class WatermarkGate {
 public:
  static constexpr std::uint32_t kAheadPercent = 10;
  static constexpr Nanoseconds kPoll = std::chrono::milliseconds(250);
  using SetAttached = std::function<Result<>(bool)>;

  // loop, cgroups and clock outlive it. The hook is attached.
  WatermarkGate(EventLoop& loop, const CgroupFs& cgroups, const Clock& clock,
                const std::vector<std::uint32_t>& levels_percent, const WatermarkGateConfig& config,
                SetAttached set_attached);

  void on_event(const Event& event);  // every one
  void tick();                        // about once a second
  [[nodiscard]] bool is_open() const { return is_open_; }
  [[nodiscard]] std::uint64_t changes() const { return changes_; }

 private:
  void hold_open();
  void set(bool is_open);

  const Clock& clock_;
  const Nanoseconds hold_;
  const SetAttached set_attached_;
  MonotonicTime held_until_;
  bool is_open_ = true;
  std::uint64_t changes_ = 0;
  std::unique_ptr<FileEvents> crossings_;  // null: no source reports them
};

}  // namespace oomw
