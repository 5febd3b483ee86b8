// SPDX-License-Identifier: Apache-2.0
#include "incident/incident_notes.h"

#include <algorithm>

namespace oomw {

namespace {

bool is_about(const std::string& note, std::string_view field) {
  return note.size() > field.size() && note.compare(0, field.size(), field) == 0 && note[field.size()] == ':';
}

struct Gap {
  bool is_missing;
  const char* field;
  const char* why;
};

std::vector<Gap> victim_gaps(const Incident& incident) {
  const auto any = [&](auto&& lacks) { return std::any_of(incident.victims.begin(), incident.victims.end(), lacks); };
  return {
      {any([](const IncidentVictim& v) { return !v.started.has_value(); }), "victims.start_time",
       "not known for every victim"},
      {any([](const IncidentVictim& v) { return v.exe.empty(); }), "victims.exe",
       "not read for every victim while it lived"},
      {any([](const IncidentVictim& v) { return v.cmdline.empty(); }), "victims.cmdline",
       "not read for every victim while it lived"},
      {any([](const IncidentVictim& v) { return !v.uid.has_value(); }), "victims.uid", "not known for every victim"},
      {any([](const IncidentVictim& v) { return !v.oom_score_adj.has_value(); }), "victims.oom_score_adj",
       "not known for every victim"},
      {any([](const IncidentVictim& v) { return !v.rss || !v.rss->pgtables_bytes; }), "victims.rss",
       "not, or not wholly, reported for every victim"},
  };
}

const char* why_no_workload(const Incident& incident) {
  const std::string owner = incident.pod ? incident.pod->owner_kind : "";
  if (owner.empty()) return "none: no controller owns the pod";
  if (owner == "Node") return "none: a static pod, made from a file on its node";
  return "not known: the pod's labels do not show what is behind its owner";
}

std::vector<Gap> context_gaps(const Incident& incident) {
  const ContainerIdentity& who = incident.container;
  const bool is_pod = !who.pod_uid.empty() || !who.pod_name.empty();
  const bool is_first_run =
      incident.pod && !incident.pod->last_termination && incident.pod->restart_count == std::uint32_t{0};
  return {
      {who.id.empty(), "container.id", "no container is known for this cgroup"},
      {who.name.empty(), "container.name", "no container runtime told a name"},
      {who.image.empty(), "container.image", "no container runtime told an image"},
      {!is_pod, "pod", "not a Kubernetes pod as far as its cgroup and container runtime say"},
      {is_pod && (who.pod_name.empty() || who.pod_namespace.empty()), "pod.name",
       "neither the container runtime nor the Kubernetes API reported it"},
      {is_pod && !incident.pod, "pod.node", "the Kubernetes API was not asked"},
      {is_pod && !incident.pod, "pod.restart_count", "the Kubernetes API was not asked"},
      {is_pod && !incident.pod, "pod.last_termination", "the Kubernetes API was not asked"},
      {incident.pod && !incident.pod->restart_count, "pod.restart_count",
       "not known: no status of the run that was killed has come"},
      {is_first_run, "pod.last_termination", "none: as far as the API tells, the container had not ended before"},
      {incident.pod && !is_first_run && !incident.pod->last_termination, "pod.last_termination",
       "not known: no status of the run that was killed reports the end of the one before it"},
      {incident.pod && incident.pod->owner_kind.empty(), "pod.owner", "none: no controller owns the pod"},
      {incident.pod && incident.pod->workload.kind.empty(), "pod.workload", why_no_workload(incident)},
      {incident.scope.empty(), "scope", "nothing told whose limit it was"},
      {incident.cgroup_path.empty(), "container.cgroup_path", "not known"},
      {!incident.trigger_pid, "trigger.pid", "the kernel's report did not name the allocating process"},
      {!incident.trigger_same_cgroup, "trigger.same_cgroup", "the allocating process's cgroup is not known"},
      {!incident.limit_bytes && incident.scope != "node", "limit.bytes", "not known"},
      {!incident.limit_bytes && incident.scope == "node", "limit.bytes", "no limit of a cgroup was hit"},
      // Elsewhere it repeats the limit, plus swap if that is counted separately.
      {!incident.total_bytes && incident.scope == "node", "limit.total_bytes", "the kernel's report did not tell it"},
      {incident.limit_owner_cgroup_path.empty() && incident.scope != "node", "limit.owner_cgroup_path", "not known"},
      {incident.limit_owner_cgroup_path.empty() && incident.scope == "node", "limit.owner_cgroup_path",
       "the node itself was out of memory"},
      {std::ranges::any_of(incident.limit_shares, [](const LimitShare& s) { return !s.usage_bytes; }),
       "limit_shares.usage_bytes", "not every container was read in time"},
      {std::ranges::any_of(incident.limit_shares, [](const LimitShare& s) { return !s.limit_bytes; }),
       "limit_shares.limit_bytes", "a container without a limit of its own, or none was read"},
      {!incident.usage_bytes, "usage_bytes", "not known"},
  };
}

bool is_partly_unknown(const IncidentCapture& capture) {
  return capture.result == "ok" && (!capture.inuse_bytes || !capture.live_bytes || !capture.buckets);
}

std::vector<Gap> evidence_gaps(const Incident& incident) {
  const auto lacks_nonreclaimable = [](const Incident::Point& p) { return !p.nonreclaimable_bytes; };
  return {
      {incident.memory_stat.empty(), "memory_stat", "not read in time"},
      {!incident.reclaim, "pressure", "reclaim was not measured, or never happened"},
      {std::any_of(incident.series.begin(), incident.series.end(), lacks_nonreclaimable), "series.nonreclaimable_bytes",
       "some points come from kernel events, which tell usage only"},
      {std::any_of(incident.captures.begin(), incident.captures.end(), is_partly_unknown), "captures",
       "what a method cannot tell (an HTTP profile has no separate live figure) is null"},
      {!incident.coverage_ratio, "coverage", "no heap profile of a victim with known memory"},
      {!incident.verdict, "verdict", "this evidence supports none"},
  };
}

std::vector<std::string> collector_notes(const IncidentCollector& collector) {
  std::vector<std::string> notes;
  if (!collector.components) {
    notes.emplace_back("collector.components: no heap profile of the victim names a component of the Collector");
  }
  if (!collector.read_at) {
    notes.emplace_back(
        "collector.metrics: the Collector's own metrics were not read before the kill: they are asked for on the ports "
        "that it listens on when its memory passes 50 % of the limit");
    return notes;
  }
  if (!collector.limiter_refused) {
    notes.emplace_back("collector.memory_limiter: its metrics know of no memory_limiter that has seen data");
  }
  if (!collector.receiver_refused) notes.emplace_back("collector.receivers: its metrics have no receivers' counters");
  if (collector.readings == 1) {
    notes.emplace_back("collector.exporters.growth: its metrics were read once only");
  } else if (std::any_of(collector.exporters->begin(), collector.exporters->end(),
                         [](const CollectorExporter& e) { return !e.growth; })) {
    notes.emplace_back("collector.exporters.growth: some queues were not there at the first reading");
  }
  return notes;
}

}  // namespace

bool has_note(const Incident& incident, std::string_view field) {
  return std::any_of(incident.notes.begin(), incident.notes.end(), [&](const std::string& note) {
    return is_about(note, field) || is_about(note, field.substr(0, field.find('.')));
  });
}

std::vector<std::string> missing_notes(const Incident& incident) {
  std::vector<std::string> result;
  for (const auto& gaps : {victim_gaps(incident), context_gaps(incident), evidence_gaps(incident)}) {
    for (const Gap& gap : gaps) {
      if (gap.is_missing && !has_note(incident, gap.field)) result.push_back(std::string(gap.field) + ": " + gap.why);
    }
  }
  if (incident.collector) {
    for (std::string& note : collector_notes(*incident.collector)) {
      const std::string field = note.substr(0, note.find(':'));
      if (!has_note(incident, field)) result.push_back(std::move(note));
    }
  }
  return result;
}

}  // namespace oomw
