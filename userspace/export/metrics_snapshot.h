// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "events/event.h"
#include "events/leak_suspicion.h"
#include "events/share_kind.h"
#include "model/kill_ledger.h"
#include "trends/trend_metrics.h"

namespace oomw {

struct ContainerMetrics {
  std::string k8s_namespace, pod, container;  // labels; unique together (the builder merges)
  std::optional<std::uint64_t> usage_bytes, limit_bytes, nonreclaimable_bytes;
  std::optional<double> growth_bytes_per_second, seconds_to_limit;
  std::optional<bool> suspected_leak;  // none: no process in it was read often enough to judge
  GrowingContents growing;             // in a suspected one
  std::optional<double> reclaim_stall_seconds;
  std::optional<std::uint64_t> reclaim_calls, reclaim_zero_yield_calls;
  bool is_removed = false;        // its cgroup is gone; kept for its kills
  bool has_hidden_kills = false;  // counted elsewhere, for want of room: 0 would be wrong
};

// For a pod's own cgroup: if its limit is hit first, reclaim for its containers runs there and not in their cgroups.
struct PodMetrics {
  std::string k8s_namespace, pod;  // labels; unique together
  double reclaim_stall_seconds = 0;
  std::uint64_t reclaim_calls = 0, reclaim_zero_yield_calls = 0;
};

struct CaptureMetrics {
  // {method, result, reason}: few, since all are closed sets.
  std::map<std::array<std::string, 3>, std::uint64_t> totals;
  void count(const CaptureFinished& capture);
  // Histograms: cumulative counts for the upper bounds, plus sum and count.
  struct Histogram {
    std::vector<double> bounds;
    std::vector<std::uint64_t> counts;  // per bucket, not cumulative; size bounds + 1
    double sum = 0;
    void observe(double value);
  };
  Histogram duration_seconds{{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5}, {}, 0};
  Histogram lead_seconds{{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800}, {}, 0};
};

// Go programs on the node by what is known of their heap profile, and the time from their exec until that was known.
struct GoProcessMetrics {
  std::uint64_t available = 0, linked_out = 0, not_found = 0;
  CaptureMetrics::Histogram registration_seconds;
};

// The hook on page faults; only where it may be detached while idle.
struct PageFaultHookMetrics {
  bool is_attached = true;
  std::uint64_t changes = 0;
};

// Only where the Kubernetes API is used.
struct KubernetesMetrics {
  std::string state;                           // listing | watching | waiting
  std::optional<double> last_contact_seconds;  // ago; none = never
  std::uint64_t lists = 0, watches = 0;
  std::size_t pods = 0;
  std::map<std::string, std::uint64_t> errors;         // by kind
  std::map<std::string, std::uint64_t> events;         // posted, or why not
  std::map<std::string, std::uint64_t> disagreements;  // by kind
  std::map<std::string, std::uint64_t> disagreements_withdrawn;
};

// What became of incidents at one sink; the keys are reasons.
struct SinkMetrics {
  std::uint64_t sent = 0;
  std::map<std::string, std::uint64_t> failed, dead_lettered;
  std::uint64_t waiting = 0;
  double oldest_unsent_seconds = 0;  // 0: nothing waits
};

// Events about containers' memory sent by OTLP.
struct MemoryEventMetrics {
  std::uint64_t sent = 0;
  std::map<std::string, std::uint64_t> dropped;  // by reason
};

// Containers' memory sent by OTLP.
struct OtlpExportMetrics {
  std::map<std::string, std::uint64_t> requests;  // by how they ended: "sent", or why not
  std::map<std::string, std::uint64_t> dropped;   // container | process | report
};

// Processes of containers near their limit.
struct ProcessMemoryMetrics {
  struct Process {
    std::string k8s_namespace, pod, container, executable;
    ProcessKey key;
    std::uint64_t resident_bytes = 0, virtual_bytes = 0;
  };
  std::vector<Process> processes;
  std::uint64_t containers_left_out = 0, processes_left_out = 0;  // now
};

// All that one scrape shows, immutable once published. Built by the core thread, read by the
// HTTP pool through shared_ptr<const MetricsSnapshot>.
struct MetricsSnapshot {
  MonotonicTime built;
  std::string node;  // its name; of a node without one, the machine's
  std::vector<ContainerMetrics> containers;
  std::vector<PodMetrics> pods;  // that reclaimed
  std::map<KillLabels, std::uint64_t> kills;
  std::uint64_t kills_folded = 0, kills_retired = 0;  // see KillLedger
  CaptureMetrics captures;
  std::uint64_t memstats_left_out = 0;  // programs not asked for their MemStats, because too many others just were
  using ReaderJobs = std::map<std::pair<std::string, std::string>, std::uint64_t>;
  ReaderJobs reader_jobs;  // reader_jobs_total{kind, result}
  std::uint64_t reader_starts = 0;
  GoProcessMetrics go_processes;
  std::optional<TrendMetrics> trend;  // none: switched off
  std::optional<KubernetesMetrics> kubernetes;
  std::map<std::string, SinkMetrics> sinks;            // by name; only those that are configured
  std::map<std::string, std::string> failing_sinks;    // name -> why, for people; not on /metrics
  std::optional<MemoryEventMetrics> memory_events;     // none: switched off
  std::optional<OtlpExportMetrics> otlp_exports;       // none: switched off
  std::optional<ProcessMemoryMetrics> process_memory;  // none: switched off
  std::map<std::string, std::uint64_t> lost;           // events_lost_total{stage}
  std::map<ShareKind, std::uint64_t> share_exceeded;   // share_exceeded_total{what}
  std::map<std::string, double> program_run_seconds;   // bpf_program_run_seconds_total{program}
  std::map<std::string, std::uint64_t> program_runs;   // bpf_program_runs_total{program}
  std::map<std::string, std::string> feature_rung;     // feature -> backend in use
  std::map<std::string, std::string> feature_lost;     // what it cannot provide, and why there is no better backend
  std::optional<PageFaultHookMetrics> page_fault_hook;
  std::uint64_t incidents_written = 0, incident_write_errors = 0;
  std::map<std::string, std::uint64_t> incidents_pruned;  // by retention, by reason
  std::map<std::string, std::uint64_t> kills_by_cause;    // oom_kills_by_cause_total{cause}; see CauseCounts
  std::uint64_t clock_jumps = 0;                          // of the wall clock
  bool is_age_pruning_held = false;                       // because the clock is in doubt
  std::uint64_t incidents_waiting = 0;                    // for the disk; amendments too
  std::uint64_t kills_merged = 0;    // into another decision's incident, because too many were open
  std::uint64_t kills_repeated = 0;  // counted in the newest incident of their container
  double incident_write_seconds_last = 0;
  std::uint64_t kernel_oom_kills_unobserved = 0;  // the kernel's own counts minus the kills that we observed
  std::uint64_t kills_seen_afterwards = 0;        // while no daemon ran; also kills known only from a count
  bool is_standing_by = false;                    // another daemon counts the kills
  std::optional<std::uint64_t> oomd_kills;        // of cgroups, by systemd-oomd; none: it cannot run here
  std::size_t cgroups = 0, processes = 0;
  double process_cpu_seconds = 0;
  std::uint64_t process_resident_bytes = 0;
  bool data_dir_writable = true;
  bool ready = false;
  MonotonicTime core_tick;  // liveness: when the core loop last ran
};

// Read when a scrape comes, because they matter while the core thread is stuck and publishes nothing.
struct LiveFigures {
  double core_stall_seconds = 0;           // StallMeter::longest
  std::uint64_t http_connections_cut = 0;  // of the metrics port, by a limit or a deadline
};

}  // namespace oomw
