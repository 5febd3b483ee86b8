// SPDX-License-Identifier: Apache-2.0
// The only folder that includes libbpf.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "events/event.h"
#include "events/lost_stage.h"
#include "kernel/heap_walks.h"
#include "kernel/resting_hook.h"

namespace oomw {

// Better rungs first. kFiles: served by system/, not by a program. kNone: nothing serves it.
enum class Rung { kFentry, kTpBtf, kRawTp, kFiles, kNone };
[[nodiscard]] std::string_view to_string(Rung rung);  // fentry | tp_btf | raw_tp | files | none

struct RefusedRung {
  Rung rung;
  std::string reason;  // one line; names the missing capability if that is the cause
};

// One feature: "oom_kill", "watermark", "reclaim", "process_lifecycle", "cgroup_lifecycle",
// "heap_at_kill".
struct FeatureStatus {
  std::string feature;
  Rung rung = Rung::kNone;
  std::vector<RefusedRung> refused;  // better rungs, best first
  std::string lost;                  // what the rung in use cannot provide; "" = nothing
};

struct KernelConfig {
  std::size_t ring_bytes = 512u << 10;  // power of two >= page size
  std::uint32_t max_cgroups = 8'192;    // entries of the per-memcg maps
  std::vector<std::uint32_t> levels_percent = {50, 70, 80, 85, 90, 95};
  std::uint32_t rearm_percent = 5;
  Nanoseconds growth_interval = std::chrono::milliseconds(10);
  Nanoseconds time_to_limit = std::chrono::milliseconds(500);
  std::uint32_t max_go_processes = 4'096;
  std::uint64_t walk_pool_bytes = 13u << 20;  // shared by all walks running at the same time
  std::uint32_t walk_max_buckets = 131'072;
  Nanoseconds walk_max_time = std::chrono::milliseconds(20);
  Nanoseconds walk_cgroup_time = std::chrono::milliseconds(100);  // of all victims of one container within a second
  bool walk_at_delivery = false;       // even where sched_process_exit would serve, as on older kernels (tests)
  std::map<std::string, Rung> forced;  // feature -> the best rung allowed (tests, workarounds)
};

struct ProgramStats {
  std::string program;
  std::uint64_t runs = 0;
  std::uint64_t run_ns = 0;  // 0 unless the kernel's bpf stats are on
  // Calls that the kernel skipped because the program was already running on that CPU: nested, or in a task that was
  // preempted (seen on 7.2, where the exit tracepoint may be preempted).
  std::uint64_t missed = 0;
};

// The kernel side of the tracer: loads each feature separately by the best rung that works, owns maps and links, drains
// the ring buffer. A refused program never takes down another feature. Core thread only.
class KernelSource {
 public:
  // Never fails as a whole: features() lists what no program can serve.
  // Loads oom_kill first: from then on no kill is missed. Shared maps are made once and reused
  // by every object.
  [[nodiscard]] static std::unique_ptr<KernelSource> make(const KernelConfig& config);
  ~KernelSource();

  [[nodiscard]] std::vector<FeatureStatus> features() const;
  [[nodiscard]] bool serves(const std::string& feature) const;  // by a program

  [[nodiscard]] int ring_fd() const;  // epoll fd, readable when records wait; -1 without programs
  // Decodes waiting records, at most max_records; returns how many were taken. Undecodable records are counted in
  // lost().
  std::size_t drain(const std::function<void(Event)>& deliver, std::size_t max_records);

  [[nodiscard]] std::optional<ReclaimSampled> reclaim_of(CgroupId cgroup, MonotonicTime now) const;
  void forget(CgroupId cgroup);  // removed: drop its map entries
  // Cumulative, by stage. Call it once a second: each call updates only a part of the missed runs, see MissedRuns.
  [[nodiscard]] LostCounts lost() const;
  // The map of bpf/core/victims.h, for VictimMarks; -1 without programs.
  [[nodiscard]] int victims_fd() const;
  // The walk at the kill; nullptr where "heap_at_kill" is not served. Lives as long as this.
  [[nodiscard]] HeapWalks* heap_walks();
  // The program that every page fault runs; nullptr where "watermark" is not served by a tracepoint. It is attached,
  // and may rest while no cgroup comes near its limit.
  [[nodiscard]] RestingHook* page_fault_hook();
  [[nodiscard]] std::vector<ProgramStats> program_stats() const;
  // Keeps the kernel's run-time statistics on while this lives (BPF_ENABLE_STATS); costs two
  // clock reads per program run, so it is opt-in. Error if refused.
  [[nodiscard]] Result<> enable_run_time_stats();

 private:
  KernelSource();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomw
