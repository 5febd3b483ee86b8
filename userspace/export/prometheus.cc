// SPDX-License-Identifier: Apache-2.0
#include "export/prometheus.h"

#include <cstdint>
#include <initializer_list>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "base/version.h"
#include "events/lost_stage.h"
#include "export/exposition.h"

namespace oomw {
namespace {

using prometheus::MetricType;

// Each {method, result, reason} that any run can end with.
constexpr const char* kCaptures[][3] = {
    {"at_kill", "ok", ""},
    {"at_kill", "failed", "no_walk"},
    {"at_kill", "failed", "linked_out"},
    {"live", "ok", ""},
    {"live", "failed", "gone"},
    {"live", "skipped", "not_go"},
    {"live", "skipped", "cooldown"},
    {"live", "skipped", "page_cache"},
    {"http", "ok", ""},
    {"http", "failed", "no_endpoint"},
    {"http", "failed", "timeout"},
    {"http", "skipped", "headroom"},
    {"http", "skipped", "cooldown"},
    {"http", "skipped", "budget"},
    {"http", "skipped", "page_cache"},
};

// Families of one sample without labels.
std::string single(const char* name, const char* help, MetricType type, const auto& value) {
  Family family(name, help, type);
  family.add(Labels{}, value);
  return family.text();
}
std::string counter(const char* name, const char* help, const auto& value) {
  return single(name, help, MetricType::Counter, value);
}
std::string gauge(const char* name, const char* help, const auto& value) {
  return single(name, help, MetricType::Gauge, value);
}

std::string histogram(const char* name, const char* help, const CaptureMetrics::Histogram& from) {
  Family family(name, help, MetricType::Histogram);
  family.add(from);
  return family.text();
}

// `known` label values are there from the first scrape on, at 0.
template <typename T>
std::string by_label(const char* name, const char* help, const char* label, const std::map<std::string, T>& values,
                     std::initializer_list<const char*> known, MetricType type = MetricType::Counter) {
  Family family(name, help, type);
  for (const auto& [key, value] : values) family.add(Labels{{label, key}}, value);
  for (const char* key : known) family.add(Labels{{label, key}}, 0);
  return family.text();
}

// Not `namespace`, `pod` and `container`: on Kubernetes those are Prometheus' labels of the target, the daemon's pod.
Labels container_labels(const std::string& k8s_namespace, const std::string& pod, const std::string& container) {
  return {{"k8s_namespace_name", k8s_namespace}, {"k8s_pod_name", pod}, {"k8s_container_name", container}};
}

Labels kill_labels(const KillLabels& kill) {
  Labels labels = container_labels(kill.k8s_namespace, kill.pod, kill.container);
  labels.push_back({"scope", kill.scope});
  return labels;
}

// Living containers are shown at 0 from the start: increase() misses a counter's jump from
// nothing to 1, and most containers are killed only once.
std::string kills(const MetricsSnapshot& snapshot) {
  Family family("oom_kills_total", "Processes the kernel OOM killer chose, by container and scope of the limit.",
                MetricType::Counter);
  // Counts that begin at 0 and jump to what the other daemon has counted would look like that many new kills.
  if (snapshot.is_standing_by) return family.text();
  for (const auto& [labels, count] : snapshot.kills) family.add(kill_labels(labels), count);
  for (const ContainerMetrics& c : snapshot.containers) {
    if (c.container.empty()) continue;  // a pod's own cgroup: its kills count for its containers
    if (!c.has_hidden_kills) family.add(kill_labels({c.k8s_namespace, c.pod, c.container, "container"}), 0);
  }
  return family.text() +
         counter("oom_kills_folded_total", "Kills counted as container _other, there being no room for another series.",
                 snapshot.kills_folded) +
         counter("oom_kills_retired_total", "Kills whose series is gone: their pod is, or others needed the room.",
                 snapshot.kills_retired);
}

std::string reader_jobs(const MetricsSnapshot::ReaderJobs& jobs) {
  Family family("reader_jobs_total", "Readings by the sandboxed reader process, by kind and how they ended.",
                MetricType::Counter);
  for (const auto& [key, count] : jobs) family.add(Labels{{"kind", key.first}, {"result", key.second}}, count);
  for (const char* kind : {"profile_check", "walk", "report", "inspection", "live", "names"}) {
    for (const char* result : {"done", "busy", "failed", "timeout", "limit", "refused"}) {
      family.add(Labels{{"kind", kind}, {"result", result}}, 0);
    }
  }
  return family.text();
}

std::string captures(const MetricsSnapshot& s) {
  Family totals("captures_total", "Heap capture attempts by method, result and reason.", MetricType::Counter);
  const auto labels = [](const auto& key) -> Labels {
    return {{"method", key[0]}, {"result", key[1]}, {"reason", key[2]}};
  };
  for (const auto& [key, count] : s.captures.totals) totals.add(labels(key), count);
  for (const auto& known : kCaptures) totals.add(labels(known), 0);
  return totals.text() +
         histogram("capture_duration_seconds", "Time one successful heap capture took.", s.captures.duration_seconds) +
         histogram("capture_lead_seconds", "Time between a heap capture and the kill it belongs to.",
                   s.captures.lead_seconds) +
         counter("memstats_left_out_total", "Programs not asked for their MemStats, too many others just were.",
                 s.memstats_left_out) +
         reader_jobs(s.reader_jobs) + counter("reader_starts_total", "Reader processes started.", s.reader_starts);
}

std::string go_processes(const GoProcessMetrics& metrics) {
  const std::map<std::string, std::uint64_t> counts = {
      {"available", metrics.available}, {"linked_out", metrics.linked_out}, {"not_found", metrics.not_found}};
  return by_label("go_processes", "Living Go programs by what is known of their heap profile.", "profile", counts, {},
                  MetricType::Gauge) +
         histogram("go_process_registration_seconds",
                   "Time from a Go program's exec until the kernel knew its heap profile.",
                   metrics.registration_seconds);
}

// container_*: a container without a value has no sample.
std::string containers(const MetricsSnapshot& snapshot) {
  using C = ContainerMetrics;
  std::string text;
  const auto add = [&](MetricType type, const char* name, const char* help, auto member) {
    Family family(name, help, type);
    for (const C& c : snapshot.containers) {
      family.add(container_labels(c.k8s_namespace, c.pod, c.container), c.*member);
    }
    text += family.text();
  };
  constexpr auto kGauge = MetricType::Gauge, kCounter = MetricType::Counter;
  add(kGauge, "container_memory_usage_bytes", "Memory charged to the cgroup.", &C::usage_bytes);
  add(kGauge, "container_memory_limit_bytes", "The cgroup's own memory limit; absent: none.", &C::limit_bytes);
  add(kGauge, "container_memory_nonreclaimable_bytes", "Usage without page cache and reclaimable slab.",
      &C::nonreclaimable_bytes);
  add(kGauge, "container_memory_growth_bytes_per_second", "Growth of usage, negative when it shrinks.",
      &C::growth_bytes_per_second);
  add(kGauge, "container_seconds_to_limit", "Headroom over growth; absent while usage does not grow.",
      &C::seconds_to_limit);
  add(kCounter, "container_reclaim_stall_seconds_total", "Time tasks spent in memcg reclaim, summed over tasks.",
      &C::reclaim_stall_seconds);
  add(kCounter, "container_reclaim_calls_total", "Finished memcg reclaim calls.", &C::reclaim_calls);
  add(kCounter, "container_reclaim_zero_yield_calls_total", "Memcg reclaim calls that freed nothing.",
      &C::reclaim_zero_yield_calls);
  if (!snapshot.trend) return text;
  add(kGauge, "container_suspected_leak",
      "1 while what fills a process in it keeps growing; absent: too few readings to judge.", &C::suspected_leak);
  return text;
}

// OpenTelemetry's process.memory.usage and process.memory.virtual, spelt as Prometheus spells them.
std::string process_memory(const ProcessMemoryMetrics& metrics) {
  constexpr auto kGauge = MetricType::Gauge;
  Family resident("process_memory_usage_bytes", "Resident memory of processes of containers near their limit.", kGauge);
  Family all("process_memory_virtual_bytes", "Virtual memory of the same processes.", kGauge);
  for (const auto& process : metrics.processes) {
    Labels labels = container_labels(process.k8s_namespace, process.pod, process.container);
    labels.push_back({"process_pid", std::to_string(process.key.pid)});
    labels.push_back({"process_executable_name", process.executable});
    resident.add(labels, process.resident_bytes);
    all.add(std::move(labels), process.virtual_bytes);
  }
  const std::map<std::string, std::uint64_t> left_out = {{"container", metrics.containers_left_out},
                                                         {"process", metrics.processes_left_out}};
  return resident.text() + all.text() +
         by_label("processes_left_out", "Containers near their limit, and processes of others, that are not shown.",
                  "what", left_out, {}, kGauge);
}

std::string pod_reclaim(const MetricsSnapshot& snapshot) {
  using P = PodMetrics;
  std::string text;
  const auto add = [&](const char* name, const char* help, auto member) {
    Family family(name, help, MetricType::Counter);
    for (const P& p : snapshot.pods) {
      family.add({{"k8s_namespace_name", p.k8s_namespace}, {"k8s_pod_name", p.pod}}, p.*member);
    }
    text += family.text();
  };
  add("pod_reclaim_stall_seconds_total",
      "Time tasks spent in reclaim for the pod's own limit, beside that for its containers' limits.",
      &P::reclaim_stall_seconds);
  add("pod_reclaim_calls_total", "Finished reclaim calls for the pod's own limit.", &P::reclaim_calls);
  add("pod_reclaim_zero_yield_calls_total", "Of those, the calls that freed nothing.", &P::reclaim_zero_yield_calls);
  return text;
}

std::string losses(const MetricsSnapshot& snapshot) {
  Family family("events_lost_total", "Events or evidence that did not fit, by the stage where they were dropped.",
                MetricType::Counter);
  for (const auto& [stage, total] : snapshot.lost) family.add(Labels{{"stage", stage}}, total);
  for (const std::string_view stage : lost_stage_names()) family.add(Labels{{"stage", std::string(stage)}}, 0);
  return family.text();
}

std::string shares(const MetricsSnapshot& snapshot) {
  Family family("share_exceeded_total",
                "What containers over their share did not get or lost, by what it is a share of.", MetricType::Counter);
  for (const auto& [kind, count] : snapshot.share_exceeded) {
    family.add(Labels{{"what", std::string(to_string(kind))}}, count);
  }
  for (const std::string_view what : kEnumNames<ShareKind>) family.add(Labels{{"what", std::string(what)}}, 0);
  return family.text();
}

std::string trend(const TrendMetrics& metrics) {
  Family cpu("trend_cpu_seconds_total", "CPU time of readings, in the daemon and its reader processes.",
             MetricType::Counter);
  cpu.add(Labels{{"of", "heaps"}}, metrics.cpu_seconds);
  cpu.add(Labels{{"of", "contents"}}, metrics.contents_cpu_seconds);
  return cpu.text() +
         by_label("trend_readings_total", "Heaps read for their trend, by result.", "result", metrics.readings,
                  {"ok", "no_gc", "gone", "timeout"}) +
         by_label("trend_contents_readings_total",
                  "Programs without heap profiles that were read for their trend by type and holder, by result.",
                  "result", metrics.contents_readings, {"ok", "budget", "busy", "gone", "headroom"}) +
         counter("trend_readings_brought_forward_total",
                 "Readings ahead of schedule, the container being near its limit.", metrics.brought_forward) +
         by_label("trend_dropped_total", "What trends gave up: for their memory, or because readings were behind.",
                  "what", metrics.dropped, {"reading", "process", "due", "incident", "judgement"}) +
         gauge("trend_memory_bytes", "Memory that trends take.", metrics.bytes);
}

constexpr std::initializer_list<const char*> kDisagreements = {"oom_killed_without_kill", "kill_with_other_reason",
                                                               "kill_not_in_status"};

std::string kubernetes(const KubernetesMetrics& metrics) {
  Family state("kubernetes_state", "What is being asked of the API server: 1 for the state in force.",
               MetricType::Gauge);
  for (const char* name : {"listing", "watching", "waiting"}) {
    state.add(Labels{{"state", name}}, metrics.state == name);
  }
  return state.text() +
         gauge("kubernetes_last_contact_seconds", "Since the API server last sent anything; absent: never.",
               metrics.last_contact_seconds) +
         counter("kubernetes_lists_total", "Lists of this node's pods begun, pages counted.", metrics.lists) +
         counter("kubernetes_watches_total", "Watches of this node's pods begun.", metrics.watches) +
         gauge("kubernetes_pods", "Pods of this node that are held.", metrics.pods) +
         by_label("kubernetes_errors_total", "Requests to the API server that failed, by kind.", "kind", metrics.errors,
                  {"connect", "tls", "timeout", "unauthorized", "forbidden", "gone", "malformed"}) +
         by_label("kubernetes_events_total", "Kubernetes Events about kills, posted or why not.", "result",
                  metrics.events, {"posted", "forbidden", "refused", "given_up"}) +
         by_label("kubernetes_disagreements_total", "Kills on which the kernel and a pod's status disagree, by kind.",
                  "kind", metrics.disagreements, kDisagreements) +
         by_label("kubernetes_disagreements_withdrawn_total",
                  "Of those, the ones that a late status settled: the kernel and Kubernetes agree.", "kind",
                  metrics.disagreements_withdrawn, kDisagreements);
}

std::string sinks(const std::map<std::string, SinkMetrics>& all) {
  Family sent("sink_sent_total", "Incidents and revisions delivered, by sink.", MetricType::Counter);
  Family failed("sink_failed_total", "Tries to deliver that failed and will be repeated, by sink and reason.",
                MetricType::Counter);
  Family dead("sink_dead_lettered_total", "Incidents that will not be delivered, by sink and reason.",
              MetricType::Counter);
  Family waiting("sink_waiting", "Incidents that wait to be delivered, by sink.", MetricType::Gauge);
  Family oldest("sink_oldest_unsent_seconds", "Since the oldest kill that waits to be delivered; 0: none waits.",
                MetricType::Gauge);
  for (const auto& [name, sink] : all) {
    const Labels labels{{"sink", name}};
    sent.add(labels, sink.sent);
    waiting.add(labels, sink.waiting);
    oldest.add(labels, sink.oldest_unsent_seconds);
    for (const auto& [reason, count] : sink.failed) failed.add({{"sink", name}, {"reason", reason}}, count);
    for (const auto& [reason, count] : sink.dead_lettered) dead.add({{"sink", name}, {"reason", reason}}, count);
    for (const char* reason : {"age", "bytes", "refused", "rejected", "too_large"}) {
      dead.add({{"sink", name}, {"reason", reason}}, 0);
    }
  }
  return sent.text() + failed.text() + dead.text() + waiting.text() + oldest.text();
}

std::string otlp_exports(const OtlpExportMetrics& metrics) {
  return by_label("otlp_metric_requests_total", "Requests with containers' memory by OTLP, by how they ended.",
                  "result", metrics.requests, {"sent", "connect", "timeout", "unavailable", "refused", "rejected"}) +
         by_label(
             "otlp_metric_dropped_total",
             "What was not sent by OTLP: beyond a report's bounds, or whole reports, the one before being on its way.",
             "what", metrics.dropped, {"container", "process", "report"});
}

std::string memory_events(const MemoryEventMetrics& metrics) {
  return counter("memory_events_sent_total", "Events about containers' memory, accepted by an OTLP receiver.",
                 metrics.sent) +
         by_label("memory_events_dropped_total", "Such events that were given up, by reason.", "reason",
                  metrics.dropped, {"full", "too_many"});
}

std::string page_fault_hook(const PageFaultHookMetrics& hook) {
  return gauge("page_fault_hook_attached", "Whether the hook on page faults is in place; it rests far below limits.",
               hook.is_attached) +
         counter("page_fault_hook_changes_total", "Times it was taken off or put back.", hook.changes);
}

std::string programs(const MetricsSnapshot& snapshot) {
  Family rungs("feature_rung", "The rung in force for each feature: 1.", MetricType::Gauge);
  for (const auto& [feature, rung] : snapshot.feature_rung) rungs.add({{"feature", feature}, {"rung", rung}}, 1);
  return by_label("bpf_program_run_seconds_total", "Run time of each BPF program; 0 unless BPF statistics are on.",
                  "program", snapshot.program_run_seconds, {}) +
         by_label("bpf_program_runs_total", "Runs of each BPF program; 0 unless BPF statistics are on.", "program",
                  snapshot.program_runs, {}) +
         rungs.text() + (snapshot.page_fault_hook ? page_fault_hook(*snapshot.page_fault_hook) : "");
}

// Incidents on disk are those written less those pruned. Merged and waiting kills have no directory of
// their own, or none yet.
std::string incidents(const MetricsSnapshot& s) {
  std::string text =
      counter("incidents_written_total", "Incident directories written.", s.incidents_written) +
      by_label("incidents_pruned_total", "Incident directories removed by retention, by the bound they were beyond.",
               "reason", s.incidents_pruned, {"age", "count", "bytes"}) +
      by_label("oom_kills_by_cause_total",
               "Processes killed, by the cause that their incident had 6 seconds after it was written.", "cause",
               s.kills_by_cause,
               {"leak", "spike", "undersized", "off_heap", "allocator_retention", "page_cache_or_tmpfs", "sibling",
                "pod_limit", "ancestor_limit", "node", "does_not_fit", "direct_buffers", "thread_stacks", "metaspace",
                "unknown"}) +
      gauge("age_pruning_held", "1 while no incident is removed for its age, the wall clock being in doubt.",
            s.is_age_pruning_held) +
      counter("clock_jumps_total", "Jumps of the wall clock that retention found.", s.clock_jumps) +
      gauge("incidents_waiting", "Incidents and amendments that wait for the disk.", s.incidents_waiting) +
      counter("oom_kills_merged_total", "Kills in the incident of another decision, too many being open.",
              s.kills_merged) +
      counter("oom_kills_repeated_total", "Kills counted in the newest incident of their container, being too many.",
              s.kills_repeated);
  if (s.oomd_kills) {
    text += counter("systemd_oomd_kills_total",
                    "Cgroups marked as killed by systemd-oomd: not kills of the kernel, which have incidents.",
                    *s.oomd_kills);
  }
  return text +
         counter("incident_write_errors_total", "Incidents that could not be written.", s.incident_write_errors) +
         gauge("incident_write_duration_seconds", "Time the last incident took to write.",
               s.incident_write_seconds_last) +
         counter("kernel_oom_kills_unobserved_total", "Kills the kernel counted that no event reported.",
                 s.kernel_oom_kills_unobserved) +
         counter("kills_seen_afterwards_total", "Kills counted afterwards, of a time when no daemon ran.",
                 s.kills_seen_afterwards) +
         gauge("standing_by", "1 while another daemon has the data directory, and this one waits to take over.",
               s.is_standing_by) +
         gauge("data_dir_writable", "1 while the data directory takes writes.", s.data_dir_writable);
}

std::string self(const MetricsSnapshot& s) {
  Family build("build_info", "Version and compiler of this build: 1.", MetricType::Gauge);
  build.add({{"version", std::string(kVersion)}, {"compiler", __VERSION__}}, 1);
  return gauge("tracked_cgroups", "Memory cgroups in the model.", s.cgroups) +
         gauge("tracked_processes", "Processes in the model.", s.processes) + build.text() +
         counter("process_cpu_seconds_total", "User and system CPU time of the daemon.", s.process_cpu_seconds) +
         gauge("process_resident_memory_bytes", "Resident memory of the daemon.", s.process_resident_bytes);
}

std::string live_figures(const LiveFigures& live) {
  return gauge("core_stall_seconds", "Longest turn of the core thread in the last 5 minutes, the present one included.",
               live.core_stall_seconds) +
         counter("http_connections_cut_total", "Connections to the metrics port that a limit or a deadline ended.",
                 live.http_connections_cut);
}

// Each sample names its node: the address that a target is scraped at goes with its pod.
std::string on_node(const std::string& node, const std::string& text) {
  if (node.empty()) return text;
  const std::string label = fmt::format("{{k8s_node_name={:?}", to_label(node));
  std::string named;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t end = line.find_first_of("{ ");  // of the metric's name
    if (!named.empty()) named += '\n';
    if (line.starts_with('#') || end == std::string_view::npos) {
      named += line;
    } else {
      named.append(line.substr(0, end)).append(label);
      named.append(line[end] == '{' ? "," : "} ").append(line.substr(end + 1));
    }
  }
  return named;
}

}  // namespace

std::string to_prometheus_text(const MetricsSnapshot& snapshot, const LiveFigures& live) {
  const std::string text =
      kills(snapshot) + captures(snapshot) + go_processes(snapshot.go_processes) + containers(snapshot) +
      (snapshot.process_memory ? process_memory(*snapshot.process_memory) : "") + pod_reclaim(snapshot) +
      losses(snapshot) + shares(snapshot) + programs(snapshot) + incidents(snapshot) +
      (snapshot.trend ? trend(*snapshot.trend) : "") + (snapshot.kubernetes ? kubernetes(*snapshot.kubernetes) : "") +
      (snapshot.sinks.empty() ? "" : sinks(snapshot.sinks)) +
      (snapshot.memory_events ? memory_events(*snapshot.memory_events) : "") +
      (snapshot.otlp_exports ? otlp_exports(*snapshot.otlp_exports) : "") + self(snapshot) + live_figures(live);
  return on_node(snapshot.node, text);
}

}  // namespace oomw
