// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/event_loop.h"
#include "base/unique_fd.h"
#include "system/cgroup_fs.h"
#include "system/due_queue.h"

namespace oomw {

// Notices a rise of the kernel's own kill count of a cgroup, for when nothing names the victim (kmsg
// cannot be read): v1 by an eventfd on memory.oom_control, v2 by inotify on memory.events. Then delivers
// a MemorySampled; the rise is missed if the cgroup is removed within milliseconds. Core thread.
class KillCountWatch {
 public:
  KillCountWatch(EventLoop& loop, const CgroupFs& cgroups, const Clock& clock, std::size_t max_watched,
                 std::function<void(Event)> deliver);
  ~KillCountWatch();
  KillCountWatch(const KillCountWatch&) = delete;
  KillCountWatch& operator=(const KillCountWatch&) = delete;

  void watch(CgroupId id, const std::string& path);
  void unwatch(CgroupId id);
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  struct Watched {
    std::string path;
    UniqueFd event;  // v1
    WatchId event_watch;
    int inotify_watch = -1;  // v2
    std::optional<std::uint64_t> kills;
  };

  Result<> open(CgroupId id, Watched& watched);
  Result<> open_v1(CgroupId id, Watched& watched);
  Result<> open_v2(CgroupId id, Watched& watched);
  void on_oom_event(CgroupId id);
  void on_inotify();
  void check(CgroupId id, std::size_t attempt);

  EventLoop& loop_;
  const CgroupFs& cgroups_;
  const Clock& clock_;
  std::size_t max_watched_;
  std::function<void(Event)> deliver_;
  std::unordered_map<CgroupId, Watched> watched_;
  std::unordered_map<int, CgroupId> by_inotify_watch_;
  UniqueFd inotify_;
  WatchId inotify_watch_;
  DueQueue due_;
  std::uint64_t refused_ = 0;
};

}  // namespace oomw
