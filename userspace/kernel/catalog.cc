// SPDX-License-Identifier: Apache-2.0
#include "kernel/catalog.h"

namespace oomw {

namespace {

bool takes_pointer(const std::optional<HookSignature>& signature, std::size_t index) {
  return signature && signature->size() > index && signature->at(index) == ParameterKind::kPointer;
}

// (int pid) up to about 6.6, (task, uid) later and in stable backports.
FeatureSpec oom_kill(const SignatureOf& signature_of) {
  FeatureSpec spec{"oom_kill",
                   ObjectFile::kOom,
                   {},
                   "limit owner resolved from the counters, not said by the kernel",
                   "kills come from the kernel log and counters, some ms late; the trigger's cgroup is not known"};
  if (takes_pointer(signature_of("mark_victim"), 0)) {
    spec.hooks.push_back({"mark_victim", "on_mark_victim_task"});
  } else {
    spec.hooks.push_back({"mark_victim", "on_mark_victim_pid"});
    spec.lost_by_tracepoint += "; a victim that is not the trigger is known by its pid only";
  }
  return spec;
}

FeatureSpec watermark() {
  return {"watermark",
          ObjectFile::kWatermark,
          {{"rss_stat", "on_rss_stat"}},
          "",
          "usage is polled: fast growth may cross levels between two readings"};
}

FeatureSpec cgroup_lifecycle() {
  return {"cgroup_lifecycle",
          ObjectFile::kLifecycle,
          {{"cgroup_mkdir", "on_cgroup_mkdir"}, {"cgroup_rmdir", "on_cgroup_rmdir"}},
          "",
          "short-lived cgroups may be seen late or not at all"};
}

FeatureSpec process_lifecycle() {
  return {"process_lifecycle",
          ObjectFile::kLifecycle,
          {{"sched_process_exec", "on_exec"}, {"sched_process_exit", "on_exit"}},
          "",
          "processes are found by scanning /proc: short-lived ones are missed"};
}

FeatureSpec reclaim(const SignatureOf& signature_of) {
  bool is_exact = takes_pointer(signature_of("mm_vmscan_memcg_reclaim_end"), 1);
  return {"reclaim",
          ObjectFile::kReclaim,
          {{"mm_vmscan_memcg_reclaim_begin", "on_reclaim_begin"}, {"mm_vmscan_memcg_reclaim_end", "on_reclaim_end"}},
          is_exact ? "" : "cgroup resolved from the task and the counters, not said by the kernel",
          "no reclaim calls, zero-yield calls or stall time"};
}

}  // namespace

std::vector<FeatureSpec> feature_catalog(const SignatureOf& signature_of) {
  return {oom_kill(signature_of), watermark(), cgroup_lifecycle(), process_lifecycle(), reclaim(signature_of)};
}

}  // namespace oomw
