// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/event_loop.h"
#include "events/event.h"
#include "events/lost_stage.h"
#include "system/cgroup_fs.h"

namespace oomw {

struct FileEventsConfig {
  bool kills = false;       // serve oom_kill: /dev/kmsg, confirmed by oom_control / memory.events
  bool watermarks = false;  // serve watermark: v1 usage eventfds; v2 adaptive polling
  std::vector<std::uint32_t> levels_percent = {50, 70, 80, 85, 90, 95};
  std::uint32_t rearm_percent = 5;
  Nanoseconds poll_slow = std::chrono::milliseconds(100);
  Nanoseconds poll_fast = std::chrono::milliseconds(10);  // while any cgroup is above 60 %
  std::size_t max_watched = 1'024;
  std::string kmsg_path = "/dev/kmsg";
  std::string proc_root = "/proc";
};

// Kills and watermarks without any BPF program, for kernels that refuse it.
// Delivers the same events as the programs do; OomKill.source is "kmsg". Core thread.
class FileEvents {
 public:
  using Deliver = std::function<void(Event)>;
  [[nodiscard]] static Result<std::unique_ptr<FileEvents>> make(EventLoop& loop, const CgroupFs& cgroups,
                                                                const Clock& clock, FileEventsConfig config,
                                                                Deliver deliver);
  ~FileEvents();
  void on_event(const Event& event);  // CgroupCreated/Removed, MemorySampled: what to watch
  [[nodiscard]] LostCounts lost() const;
  [[nodiscard]] std::vector<std::string> problems() const;  // which parts are not available, and why
  // Every known limit is watched now: none waits to be registered, none was refused.
  [[nodiscard]] bool watches_every_limit() const;

 private:
  FileEvents();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The kernel's two lines of one kill ("oom-kill:constraint=..." and "Killed process ..."), pure
// and fuzzed: comm is workload-controlled text inside them. nullopt = another line.
struct KmsgConstraint {
  std::string constraint;  // CONSTRAINT_MEMCG | CONSTRAINT_NONE | ...
  std::string oom_memcg;   // "" for node-wide
  std::string task_memcg;
  std::string comm;
  std::int32_t pid = 0;
  std::uint32_t uid = 0;
};
struct KmsgKilled {
  std::int32_t pid = 0;
  std::string comm;
  std::uint64_t anon_bytes = 0, file_bytes = 0, shmem_bytes = 0, pgtables_bytes = 0, total_vm_bytes = 0;
  std::uint32_t uid = 0;
  std::int32_t oom_score_adj = 0;
  bool memcg = false;
};
[[nodiscard]] std::optional<KmsgConstraint> parse_kmsg_constraint(std::string_view message);
[[nodiscard]] std::optional<KmsgKilled> parse_kmsg_killed(std::string_view message);

}  // namespace oomw
