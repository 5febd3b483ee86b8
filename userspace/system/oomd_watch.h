// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/clock.h"
#include "base/event_loop.h"
#include "base/rate_limit.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "system/cgroup_fs.h"

namespace oomw {

// Notices when systemd-oomd kills all processes of a cgroup. The kernel does not decide such a kill: memory.events does
// not count it and no OOM hook runs. systemd gives the unit the same result (oom-kill) for both.
//   - systemd-oomd 252 counts its kills in the cgroup's attribute user.oomd_ooms before it sends SIGKILL. inotify
//     reports a changed attribute to watchers of the parent directory; the cgroup is removed 0.2 s later
//   - one watch for each cgroup that has children, at most kMaxWatches: below any further one kills go unnoticed
//   - a hint, not evidence: the owner of a cgroup (delegation) can write that attribute too, at any rate. So at most
//     kBurst attributes are read in a row, then one per kEvery, and kMaxKept cgroups are distinguished at a time
// For cgroup v2 only: systemd-oomd needs it. Core thread.
class OomdWatch {
 public:
  static constexpr std::size_t kMaxWatches = 2'048;
  static constexpr std::size_t kMaxKept = 256;
  static constexpr int kBurst = 128;  // systemd changes four attributes of each unit it starts
  static constexpr Nanoseconds kEvery = std::chrono::milliseconds(50);
  using Deliver = std::function<void(const std::string& path)>;  // once for each kill

  [[nodiscard]] static Result<std::unique_ptr<OomdWatch>> make(EventLoop& loop, const CgroupFs& cgroups,
                                                               const Clock& clock, Deliver deliver);
  ~OomdWatch();
  OomdWatch(const OomdWatch&) = delete;
  OomdWatch& operator=(const OomdWatch&) = delete;

  // For every event; only CgroupCreated and CgroupRemoved matter here.
  void on_event(const Event& event);
  [[nodiscard]] std::uint64_t kills() const { return kills_; }

 private:
  OomdWatch(EventLoop& loop, const CgroupFs& cgroups, const Clock& clock, Deliver deliver)
      : loop_(loop), cgroups_(cgroups), clock_(clock), deliver_(std::move(deliver)) {}
  Result<> open();
  void watch_above(const std::string& path);
  void on_inotify();
  void forget(int watch);
  void check(const std::string& path);

  EventLoop& loop_;
  const CgroupFs& cgroups_;
  const Clock& clock_;
  Deliver deliver_;
  UniqueFd inotify_;
  WatchId inotify_watch_;
  std::unordered_map<std::string, int> watches_;            // directory -> watch
  std::unordered_map<int, std::string> directories_;        // watch -> directory
  std::unordered_map<CgroupId, std::uint64_t> last_kills_;  // the attribute's last value
  std::uint64_t kills_ = 0;
  RateLimit checks_{kBurst, kEvery};
};

}  // namespace oomw
