// SPDX-License-Identifier: Apache-2.0
#include "export/prometheus.h"

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "base/version.h"
#include "events/lost_stage.h"
#include "export/label.h"

namespace oomw {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

// {method, result, reason} that any run can come to.
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

// One metric family under construction. Label values become fit for the exposition here, and a
// label set that is there already is not added twice: one duplicate would fail the whole scrape.
class Family {
 public:
  // help: plain text; the serializer does not escape it.
  Family(std::string name, std::string help, MetricType type)
      : family_{"oomwitness_" + std::move(name), std::move(help), type, {}} {}

  static Family unprefixed(std::string name, std::string help, MetricType type) {
    Family family("", std::move(help), type);
    family.family_.name = std::move(name);
    return family;
  }

  void add(Labels labels, double value) {
    ClientMetric metric;
    metric.counter.value = value;
    metric.gauge.value = value;
    add_metric(std::move(labels), std::move(metric));
  }
  template <typename T>
  void add(const Labels& labels, const std::optional<T>& value) {
    if (value.has_value()) add(labels, static_cast<double>(*value));
  }
  void add(const CaptureMetrics::Histogram& histogram) {
    ClientMetric metric;
    metric.histogram = to_prometheus(histogram);
    add_metric({}, std::move(metric));
  }

  [[nodiscard]] std::string text() const {
    if (!family_.metric.empty()) return prometheus::TextSerializer().Serialize({family_});
    // The serializer leaves out a family without samples; a reader should still find its name.
    const char* type = family_.type == MetricType::Counter ? "counter" : "gauge";
    return "# HELP " + family_.name + " " + family_.help + "\n# TYPE " + family_.name + " " + type + "\n";
  }

 private:
  void add_metric(Labels labels, ClientMetric metric) {
    for (ClientMetric::Label& label : labels) label.value = to_label(label.value);
    if (!seen_.insert(labels).second) return;
    metric.label = std::move(labels);
    family_.metric.push_back(std::move(metric));
  }

  static ClientMetric::Histogram to_prometheus(const CaptureMetrics::Histogram& from) {
    ClientMetric::Histogram to;
    to.sample_sum = from.sum;
    for (std::size_t i = 0; i <= from.bounds.size(); ++i) {
      to.sample_count += i < from.counts.size() ? from.counts[i] : 0;
      const bool is_last = i == from.bounds.size();
      to.bucket.push_back({to.sample_count, is_last ? std::numeric_limits<double>::infinity() : from.bounds[i]});
    }
    return to;
  }

  MetricFamily family_;
  std::set<Labels> seen_;
};

// A family of one sample without labels.
std::string single(const char* name, const char* help, MetricType type, double value) {
  Family family(name, help, type);
  family.add(Labels{}, value);
  return family.text();
}

Labels container_labels(const std::string& k8s_namespace, const std::string& pod, const std::string& container) {
  return {{"namespace", k8s_namespace}, {"pod", pod}, {"container", container}};
}

Labels kill_labels(const KillLabels& kill) {
  Labels labels = container_labels(kill.k8s_namespace, kill.pod, kill.container);
  labels.push_back({"scope", kill.scope});
  return labels;
}

// Living containers are shown at 0 from the start: increase() misses a counter's jump from
// nothing to 1, and most containers are killed once.
std::string kills(const MetricsSnapshot& snapshot) {
  Family family("oom_kills_total", "Processes the kernel OOM killer chose, by container and scope of the limit.",
                MetricType::Counter);
  // Counts that begin at 0 and jump to what the other daemon had counted would look like that many kills.
  if (snapshot.is_standing_by) return family.text();
  for (const auto& [labels, count] : snapshot.kills) family.add(kill_labels(labels), static_cast<double>(count));
  for (const ContainerMetrics& c : snapshot.containers) {
    if (c.container.empty()) continue;  // a pod's own cgroup: its kills are its containers'
    family.add(kill_labels({c.k8s_namespace, c.pod, c.container, "container"}), 0.0);
  }
  return family.text();
}

std::string captures(const CaptureMetrics& metrics, std::uint64_t memstats_left_out) {
  Family totals("captures_total", "Heap capture attempts by method, result and reason.", MetricType::Counter);
  const auto add = [&totals](const std::string& method, const std::string& result, const std::string& reason,
                             double n) {
    totals.add(Labels{{"method", method}, {"result", result}, {"reason", reason}}, n);
  };
  for (const auto& [key, count] : metrics.totals) add(key[0], key[1], key[2], static_cast<double>(count));
  for (const auto& known : kCaptures) add(known[0], known[1], known[2], 0);
  Family duration("capture_duration_seconds", "Time one successful heap capture took.", MetricType::Histogram);
  duration.add(metrics.duration_seconds);
  Family lead("capture_lead_seconds", "Time between a heap capture and the kill it belongs to.", MetricType::Histogram);
  lead.add(metrics.lead_seconds);
  return totals.text() + duration.text() + lead.text() +
         single("memstats_left_out_total", "Programs not asked for their MemStats, too many others just were.",
                MetricType::Counter, static_cast<double>(memstats_left_out));
}

std::string go_processes(const GoProcessMetrics& metrics) {
  Family known("go_processes", "Living Go programs by what is known of their heap profile.", MetricType::Gauge);
  const auto add = [&known](const char* state, std::uint64_t count) {
    known.add(Labels{{"profile", state}}, static_cast<double>(count));
  };
  add("available", metrics.available);
  add("linked_out", metrics.linked_out);
  add("not_found", metrics.not_found);
  Family delay("go_process_registration_seconds",
               "Time from a Go program's exec until the kernel knew its heap profile.", MetricType::Histogram);
  delay.add(metrics.registration_seconds);
  return known.text() + delay.text();
}

// One family of container_*: `value` picks what it shows, absent = no sample.
template <typename Value>
std::string per_container(const MetricsSnapshot& snapshot, const char* name, const char* help, MetricType type,
                          Value value) {
  Family family(name, help, type);
  for (const ContainerMetrics& c : snapshot.containers) {
    family.add(container_labels(c.k8s_namespace, c.pod, c.container), value(c));
  }
  return family.text();
}

std::string container_memory(const MetricsSnapshot& snapshot) {
  const auto gauge = [&snapshot](const char* name, const char* help, auto member) {
    return per_container(snapshot, name, help, MetricType::Gauge,
                         [member](const ContainerMetrics& c) { return c.*member; });
  };
  using C = ContainerMetrics;
  return gauge("container_memory_usage_bytes", "Memory charged to the cgroup.", &C::usage_bytes) +
         gauge("container_memory_limit_bytes", "The cgroup's own memory limit; absent: none.", &C::limit_bytes) +
         gauge("container_memory_nonreclaimable_bytes", "Usage without page cache and reclaimable slab.",
               &C::nonreclaimable_bytes) +
         gauge("container_memory_growth_bytes_per_second", "Growth of usage, negative when it shrinks.",
               &C::growth_bytes_per_second) +
         gauge("container_seconds_to_limit", "Headroom over growth; absent while usage does not grow.",
               &C::seconds_to_limit);
}

std::string container_reclaim(const MetricsSnapshot& snapshot) {
  const auto counter = [&snapshot](const char* name, const char* help, auto member) {
    return per_container(snapshot, name, help, MetricType::Counter,
                         [member](const ContainerMetrics& c) { return c.*member; });
  };
  using C = ContainerMetrics;
  return counter("container_reclaim_stall_seconds_total", "Time tasks spent in memcg reclaim, summed over tasks.",
                 &C::reclaim_stall_seconds) +
         counter("container_reclaim_calls_total", "Finished memcg reclaim calls.", &C::reclaim_calls) +
         counter("container_reclaim_zero_yield_calls_total", "Memcg reclaim calls that freed nothing.",
                 &C::reclaim_zero_yield_calls);
}

std::string pod_reclaim(const MetricsSnapshot& snapshot) {
  const auto counter = [&snapshot](const char* name, const char* help, auto member) {
    Family family(name, help, MetricType::Counter);
    for (const PodMetrics& p : snapshot.pods) {
      family.add(Labels{{"namespace", p.k8s_namespace}, {"pod", p.pod}}, static_cast<double>(p.*member));
    }
    return family.text();
  };
  using P = PodMetrics;
  return counter("pod_reclaim_stall_seconds_total",
                 "Time tasks spent in reclaim for the pod's own limit, beside that for its containers' limits.",
                 &P::reclaim_stall_seconds) +
         counter("pod_reclaim_calls_total", "Finished reclaim calls for the pod's own limit.", &P::reclaim_calls) +
         counter("pod_reclaim_zero_yield_calls_total", "Of those, the calls that freed nothing.",
                 &P::reclaim_zero_yield_calls);
}

std::string losses(const MetricsSnapshot& snapshot) {
  Family family("events_lost_total", "Events or evidence that did not fit, by the stage where they fell off.",
                MetricType::Counter);
  for (const auto& [stage, total] : snapshot.lost) family.add(Labels{{"stage", stage}}, static_cast<double>(total));
  for (const std::string_view stage : lost_stage_names()) family.add(Labels{{"stage", std::string(stage)}}, 0.0);
  return family.text();
}

std::string by_label(const char* name, const char* help, const char* label,
                     const std::map<std::string, std::uint64_t>& counts, std::initializer_list<const char*> known) {
  Family family(name, help, MetricType::Counter);
  for (const auto& [value, count] : counts) family.add(Labels{{label, value}}, static_cast<double>(count));
  for (const char* value : known) family.add(Labels{{label, value}}, 0.0);
  return family.text();
}

std::string trend(const MetricsSnapshot& snapshot) {
  const auto suspected = [](const ContainerMetrics& c) { return c.suspected_leak; };
  return by_label("trend_readings_total", "Heaps looked at for their trend, by what came of it.", "result",
                  snapshot.trend->readings, {"ok", "no_gc", "gone", "timeout"}) +
         single("trend_readings_brought_forward_total",
                "Looks at a heap that came before their time, its container being near its limit.", MetricType::Counter,
                static_cast<double>(snapshot.trend->brought_forward)) +
         by_label("trend_dropped_total", "What trends gave up: for their memory, or because readings were behind.",
                  "what", snapshot.trend->dropped, {"reading", "process", "due", "incident", "judgement"}) +
         single("trend_memory_bytes", "Memory that trends take.", MetricType::Gauge,
                static_cast<double>(snapshot.trend->bytes)) +
         per_container(snapshot, "container_suspected_leak",
                       "1 while a Go heap in it keeps growing where it was; absent: too few readings to say.",
                       MetricType::Gauge, suspected);
}

constexpr std::initializer_list<const char*> kDisagreements = {"oom_killed_without_kill", "kill_with_other_reason",
                                                               "kill_not_in_status"};

std::string kubernetes(const KubernetesMetrics& metrics) {
  Family state("kubernetes_state", "What is being asked of the API server: 1 for the state in force.",
               MetricType::Gauge);
  for (const char* name : {"listing", "watching", "waiting"}) {
    state.add(Labels{{"state", name}}, metrics.state == name ? 1.0 : 0.0);
  }
  Family contact("kubernetes_last_contact_seconds", "Since the API server last said something; absent: never.",
                 MetricType::Gauge);
  contact.add(Labels{}, metrics.last_contact_seconds);
  return state.text() + contact.text() +
         single("kubernetes_lists_total", "Lists of this node's pods begun, pages counted.", MetricType::Counter,
                static_cast<double>(metrics.lists)) +
         single("kubernetes_watches_total", "Watches of this node's pods begun.", MetricType::Counter,
                static_cast<double>(metrics.watches)) +
         single("kubernetes_pods", "Pods of this node that are held.", MetricType::Gauge,
                static_cast<double>(metrics.pods)) +
         by_label("kubernetes_errors_total", "Requests to the API server that came to nothing, by kind.", "kind",
                  metrics.errors, {"connect", "tls", "timeout", "unauthorized", "forbidden", "gone", "malformed"}) +
         by_label("kubernetes_events_total", "Kubernetes Events about kills, posted or why not.", "result",
                  metrics.events, {"posted", "queue_full", "forbidden", "refused", "given_up"}) +
         by_label("kubernetes_disagreements_total", "Kills that the kernel and a pod's status tell otherwise, by kind.",
                  "kind", metrics.disagreements, kDisagreements) +
         by_label("kubernetes_disagreements_withdrawn_total",
                  "Of those, the ones that a late status settled: the kernel and Kubernetes agree.", "kind",
                  metrics.disagreements_withdrawn, kDisagreements);
}

std::string page_fault_hook(const MetricsSnapshot& snapshot) {
  if (!snapshot.page_fault_hook) return "";
  return single("page_fault_hook_attached", "Whether the hook on page faults is in place; it rests far below limits.",
                MetricType::Gauge, snapshot.page_fault_hook->is_attached ? 1 : 0) +
         single("page_fault_hook_changes_total", "Times it was taken off or put back.", MetricType::Counter,
                static_cast<double>(snapshot.page_fault_hook->changes));
}

std::string programs(const MetricsSnapshot& snapshot) {
  Family seconds("bpf_program_run_seconds_total", "Run time of each BPF program; 0 unless BPF statistics are on.",
                 MetricType::Counter);
  for (const auto& [program, value] : snapshot.program_run_seconds) seconds.add(Labels{{"program", program}}, value);
  Family runs("bpf_program_runs_total", "Runs of each BPF program; 0 unless BPF statistics are on.",
              MetricType::Counter);
  for (const auto& [program, n] : snapshot.program_runs) runs.add(Labels{{"program", program}}, static_cast<double>(n));
  Family rungs("feature_rung", "The rung in force for each feature: 1.", MetricType::Gauge);
  for (const auto& [feature, rung] : snapshot.feature_rung) {
    rungs.add(Labels{{"feature", feature}, {"rung", rung}}, 1.0);
  }
  return seconds.text() + runs.text() + rungs.text() + page_fault_hook(snapshot);
}

// Written, less pruned, is what lies on disk; merged and waiting are the kills that are not there by
// themselves, or not yet.
std::string incident_counts(const MetricsSnapshot& s) {
  return single("incidents_written_total", "Incident directories written.", MetricType::Counter,
                static_cast<double>(s.incidents_written)) +
         single("incidents_pruned_total", "Incident directories removed by retention.", MetricType::Counter,
                static_cast<double>(s.incidents_pruned)) +
         single("incidents_waiting", "Incidents and amendments that wait for the disk.", MetricType::Gauge,
                static_cast<double>(s.incidents_waiting)) +
         single("oom_kills_merged_total", "Kills in the incident of another decision, too many being open.",
                MetricType::Counter, static_cast<double>(s.kills_merged));
}

std::string oomd_kills(const MetricsSnapshot& s) {
  if (!s.oomd_kills) return "";
  return single("systemd_oomd_kills_total",
                "Cgroups that systemd-oomd killed, as they are marked: not kills of the kernel, which have incidents.",
                MetricType::Counter, static_cast<double>(*s.oomd_kills));
}

std::string incidents(const MetricsSnapshot& s) {
  return incident_counts(s) + oomd_kills(s) +
         single("incident_write_errors_total", "Incidents that could not be written.", MetricType::Counter,
                static_cast<double>(s.incident_write_errors)) +
         single("incident_write_duration_seconds", "Time the last incident took to write.", MetricType::Gauge,
                s.incident_write_seconds_last) +
         single("kernel_oom_kills_unobserved_total", "Kills the kernel counted that no event told of.",
                MetricType::Counter, static_cast<double>(s.kernel_oom_kills_unobserved)) +
         single("kills_seen_afterwards_total", "Kills counted afterwards, of a time when no daemon ran.",
                MetricType::Counter, static_cast<double>(s.kills_seen_afterwards)) +
         single("standing_by", "1 while another daemon has the data directory, and this one waits to take over.",
                MetricType::Gauge, s.is_standing_by ? 1 : 0) +
         single("data_dir_writable", "1 while the data directory takes writes.", MetricType::Gauge,
                s.data_dir_writable ? 1 : 0);
}

std::string self(const MetricsSnapshot& s) {
  Family build("build_info", "Version and compiler of this build: 1.", MetricType::Gauge);
  build.add(Labels{{"version", std::string(kVersion)}, {"compiler", __VERSION__}}, 1.0);
  Family cpu =
      Family::unprefixed("process_cpu_seconds_total", "User and system CPU time of the daemon.", MetricType::Counter);
  cpu.add(Labels{}, s.process_cpu_seconds);
  Family resident =
      Family::unprefixed("process_resident_memory_bytes", "Resident memory of the daemon.", MetricType::Gauge);
  resident.add(Labels{}, static_cast<double>(s.process_resident_bytes));
  return single("tracked_cgroups", "Memory cgroups in the model.", MetricType::Gauge, static_cast<double>(s.cgroups)) +
         single("tracked_processes", "Processes in the model.", MetricType::Gauge, static_cast<double>(s.processes)) +
         build.text() + cpu.text() + resident.text();
}

}  // namespace

std::string to_prometheus_text(const MetricsSnapshot& snapshot) {
  return kills(snapshot) + captures(snapshot.captures, snapshot.memstats_left_out) +
         go_processes(snapshot.go_processes) + container_memory(snapshot) + container_reclaim(snapshot) +
         pod_reclaim(snapshot) + losses(snapshot) + programs(snapshot) + incidents(snapshot) +
         (snapshot.trend ? trend(snapshot) : "") + (snapshot.kubernetes ? kubernetes(*snapshot.kubernetes) : "") +
         self(snapshot);
}

}  // namespace oomw
