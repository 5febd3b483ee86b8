// SPDX-License-Identifier: Apache-2.0
#include "kernel/catalog.h"

namespace oomw {

namespace {

HookSpec hook(std::string tracepoint, std::string program) {
  return {std::move(tracepoint), [name = std::move(program)](const HookSignature&) { return name; }};
}

// (int pid) up to about 6.6, (task, uid) later and in stable backports.
std::string mark_victim_program(const HookSignature& signature) {
  bool takes_task = !signature.empty() && signature.front() == ParameterKind::kPointer;
  return takes_task ? "on_mark_victim_task" : "on_mark_victim_pid";
}

}  // namespace

std::vector<FeatureSpec> feature_catalog() {
  return {
      {"oom_kill",
       ObjectFile::kOom,
       {{"mark_victim", mark_victim_program}},
       "limit owner resolved from the counters, not said by the kernel",
       "kills come from the kernel log and counters: no cgroup of the trigger, some ms late"},
      {"watermark",
       ObjectFile::kWatermark,
       {hook("rss_stat", "on_rss_stat")},
       "",
       "usage is polled: fast growth may cross levels between two readings"},
      {"cgroup_lifecycle",
       ObjectFile::kLifecycle,
       {hook("cgroup_mkdir", "on_cgroup_mkdir"), hook("cgroup_rmdir", "on_cgroup_rmdir")},
       "",
       "short-lived cgroups may be seen late or not at all"},
      {"process_lifecycle",
       ObjectFile::kLifecycle,
       {hook("sched_process_exec", "on_exec"), hook("sched_process_exit", "on_exit")},
       "",
       "processes are found by scanning /proc: short-lived ones are missed"},
      {"reclaim",
       ObjectFile::kReclaim,
       {hook("mm_vmscan_memcg_reclaim_begin", "on_reclaim_begin"),
        hook("mm_vmscan_memcg_reclaim_end", "on_reclaim_end")},
       "memcg resolved from the task and the counters, not said by the kernel",
       "no reclaim calls, zero-yield calls or stall time"},
  };
}

}  // namespace oomw
