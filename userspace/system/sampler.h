// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/event_loop.h"
#include "events/event.h"
#include "events/lost_stage.h"
#include "system/cgroup_fs.h"
#include "system/container_path.h"
#include "system/oci_bundle.h"
#include "system/process_reader.h"

namespace oomw {

struct SamplerConfig {
  Nanoseconds slow = std::chrono::seconds(10);  // every cgroup, spread evenly over this
  Nanoseconds fast = std::chrono::seconds(1);   // those above fast_ratio of their limit
  double fast_ratio = 0.5;
  std::size_t max_fast = 256;
  std::size_t max_idle = 256;                                  // how many other cgroups keep files open: see IdleCgroup
  Nanoseconds identify_delay = std::chrono::milliseconds(50);  // from exec to reading /proc: spares short-lived ones
  std::size_t max_pending = 4'096;                             // execs waiting to be read; overflow counted
  BundleConfig bundles;
  std::string proc_root = "/proc";
  NestedRuntimes nested = NestedRuntimes::kNotCounted;
};

// The event source for /proc, cgroupfs and OCI bundles. Core thread: each reading is 5-100 us. What lies in a process's
// memory (command line, environment) is read elsewhere and follows as a second ProcessSeen, see ArgumentReader; and so
// are bundles, which bring a second ContainerIdentified.
//   - start(): walks the tree once and delivers CgroupCreated, ContainerIdentified, MemorySampled
//     and ProcessSeen for everything that exists;
//   - then on its own timers, and on request from the core when a kernel event asks for fresh
//     readings. Tracks cgroups (id -> path) from CgroupCreated/Removed events; rescan()
//     replaces these events where there is no kernel program.
class Sampler {
 public:
  using Deliver = std::function<void(Event)>;

  Sampler(EventLoop& loop, const CgroupFs& cgroups, const Clock& clock, SamplerConfig config, Deliver deliver);
  ~Sampler();

  void start();
  void on_event(const Event& event);  // CgroupCreated/Removed, ProcessExec/Exit, WatermarkCrossed
  // Read one cgroup now and deliver it; false if it is gone or unknown.
  bool sample_now(CgroupId cgroup, bool detailed);
  // And what is resident of its processes, which tells which of them held what the victim did not.
  bool sample_after_kill(CgroupId cgroup, bool detailed);
  // Read the cgroup's processes that were not read yet and deliver ProcessSeen (at most max).
  void read_processes_now(CgroupId cgroup, std::size_t max);
  std::optional<ProcessKey> read_process_now(std::int32_t pid);
  // Walk the tree and deliver what appeared or vanished (cgroup_lifecycle without a program).
  void rescan();
  // Also rescan every `interval` from now on.
  void keep_rescanning(Nanoseconds interval);
  [[nodiscard]] std::string path_of(CgroupId cgroup) const;  // "" = unknown
  [[nodiscard]] LostCounts lost() const;                     // by stage

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomw
