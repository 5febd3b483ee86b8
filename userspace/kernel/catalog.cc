// SPDX-License-Identifier: Apache-2.0
#include "kernel/catalog.h"

namespace oomw {

namespace {

bool takes_pointer(const std::optional<HookSignature>& signature, std::size_t index) {
  return signature && signature->size() > index && signature->at(index) == ParameterKind::kPointer;
}

// The hook at a decision's end is attached before the one at its beginning, so a noted decision is always cleared.
// mark_oom_victim has the task that mark_victim(int pid) leaves out.
std::vector<HookSpec> decision_hooks(const HookSpec& mark_victim) {
  std::vector<HookSpec> hooks = {{"oom_kill_process", "on_oom_decided_fexit", HookKind::kFunction},
                                 {"oom_kill_process", "on_oom_decide_fentry", HookKind::kFunction}};
  if (mark_victim.program == "on_mark_victim_pid") {
    hooks.push_back({"mark_oom_victim", "on_oom_mark_fentry", HookKind::kFunction});
  }
  hooks.push_back(mark_victim);
  return hooks;
}

// (int pid) up to about 6.6, (task, uid) later and in stable backports.
FeatureSpec oom_kill(const SignatureOf& signature_of) {
  FeatureSpec spec{"oom_kill",
                   ObjectFile::kOom,
                   {},
                   "limit owner and scope are resolved from the counters, not reported by the kernel; victims of one "
                   "decision are joined by time; the memory that the decision was about is not known",
                   "kills come from the kernel log and counters, some ms late; the trigger's cgroup is not known"};
  if (takes_pointer(signature_of("mark_victim"), 0)) {
    spec.hooks.push_back({"mark_victim", "on_mark_victim_task"});
  } else {
    spec.hooks.push_back({"mark_victim", "on_mark_victim_pid"});
    spec.lost_by_tracepoint += "; a victim that is not the trigger is known by its pid only";
  }
  spec.fentry_hooks = decision_hooks(spec.hooks.front());
  return spec;
}

FeatureSpec watermark() {
  FeatureSpec spec{
      "watermark",
      ObjectFile::kWatermark,
      {{"rss_stat", "on_rss_stat"}, {"mm_vmscan_memcg_reclaim_begin", "on_watermark_reclaim"}},
      "growth that maps no page (writes to files and tmpfs) is reported where the kernel reclaims for the "
      "limit; below that the sampler sees it; each page fault pays for the hook, not each 64th, so it rests "
      "until usage passes a level: a new limit may be noticed 10 s late",
      "usage is polled: fast growth may cross levels between two readings"};
  spec.fentry_hooks = {{"page_counter_try_charge", "on_charged_fexit", HookKind::kFunction}};
  return spec;
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

// The hook at the end is attached before the one at the beginning, so every noted start is taken.
FeatureSpec reclaim(const SignatureOf& signature_of) {
  bool is_exact = takes_pointer(signature_of("mm_vmscan_memcg_reclaim_end"), 1);
  HookSpec end{"mm_vmscan_memcg_reclaim_end", "on_reclaim_end"};
  FeatureSpec spec{"reclaim",
                   ObjectFile::kReclaim,
                   {end, {"mm_vmscan_memcg_reclaim_begin", "on_reclaim_begin"}},
                   is_exact
                       ? ""
                       : "cgroup is resolved from the task and the counters, not reported by the kernel: reclaim by "
                         "writers of a limit counts as theirs",
                   "no reclaim calls, zero-yield calls or stall time"};
  spec.fentry_hooks = {end, {"try_to_free_mem_cgroup_pages", "on_reclaim_begin_fentry", HookKind::kFunction}};
  return spec;
}

// From 6.16 on, sched_process_exit fires before the mm is released, carries group_dead and holds no lock.
// signal_deliver works on all kernels, but runs under the victim's siglock with interrupts off.
FeatureSpec heap_at_kill(const SignatureOf& signature_of) {
  auto exit = signature_of("sched_process_exit");
  bool exit_has_mm = exit && exit->size() >= 2;
  bool has_task = takes_pointer(signature_of("mark_victim"), 0);
  FeatureSpec spec{
      "heap_at_kill",
      ObjectFile::kGoHeap,
      {exit_has_mm ? HookSpec{"sched_process_exit", "on_heap_exit", HookKind::kTracepoint, "on_heap_exit_perf"}
                   : HookSpec{"signal_deliver", "on_heap_deliver"},
       {"signal_generate", "on_heap_expect"},
       {"mark_victim", has_task ? "on_heap_victim_task" : "on_heap_victim_pid"}},
      exit_has_mm ? "" : "a walk runs with interrupts off on the victim's CPU",
      "no heap profile of the kill itself: the last one taken before it is what remains",
      false,
      "bpf_loop"};
  return spec;
}

}  // namespace

std::vector<Rung> program_rungs(const FeatureSpec& spec) {
  if (spec.fentry_hooks.empty()) return {Rung::kTpBtf, Rung::kRawTp};
  return {Rung::kFentry, Rung::kTpBtf, Rung::kRawTp};
}

std::vector<FeatureSpec> feature_catalog(const SignatureOf& signature_of) {
  return {oom_kill(signature_of), watermark(),           cgroup_lifecycle(),
          process_lifecycle(),    reclaim(signature_of), heap_at_kill(signature_of)};
}

FeatureSpec growth_feature() {
  FeatureSpec spec{
      "growth", ObjectFile::kGrowth, {{"rss_stat", "on_growth"}}, "", "no profile of the code that a process grew by"};
  spec.has_files = false;
  return spec;
}

}  // namespace oomw
