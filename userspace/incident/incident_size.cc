// SPDX-License-Identifier: Apache-2.0
#include "incident/incident_size.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "base/text.h"

namespace oomw {
namespace {

// Lines of the indented JSON with their key, by what they hold; the objects' brackets are in them.
constexpr std::uint64_t kNumber = 30;
constexpr std::uint64_t kKey = 20;
// Keys that are always there, nulls, and the notes that say why they are null.
constexpr std::uint64_t kIncident = 700;
constexpr std::uint64_t kPod = 200;
constexpr std::uint64_t kVictim = 9 * kNumber;
constexpr std::uint64_t kCapture = 12 * kNumber;
constexpr std::uint64_t kWatermark = 4 * kNumber;
constexpr std::uint64_t kSeriesPoint = 4 * kNumber;
constexpr std::uint64_t kTrendFigures = 11 * kNumber;
constexpr std::uint64_t kTrendPoint = 7 * kNumber;
constexpr std::uint64_t kComponent = 4 * kNumber;

// As to_json_text() escapes it, a byte that is no UTF-8 as \ufffd. Of valid UTF-8 it is half or less.
std::uint64_t size_of(const std::string& text) {
  std::uint64_t bytes = kKey;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_escaped = byte < 0x20 || byte >= 0x80;
    bytes += is_escaped ? 6 : c == '"' || c == '\\' ? 2 : 1;
  }
  return bytes;
}

template <typename... Texts>
std::uint64_t size_of_all(const Texts&... texts) {
  return (size_of(texts) + ...);
}

std::uint64_t size_of(const std::map<std::string, std::uint64_t>& figures) {
  std::uint64_t bytes = 0;
  for (const auto& [name, value] : figures) bytes += size_of(name) + kNumber / 2;
  return bytes;
}

std::uint64_t size_of(const std::map<std::string, std::string>& texts) {
  std::uint64_t bytes = 0;
  for (const auto& [name, value] : texts) bytes += size_of(name) + size_of(value);
  return bytes;
}

std::uint64_t size_of(const ContainerIdentity& who) {
  return size_of_all(who.runtime, who.id, who.name, who.image, who.unit, who.pod_name, who.pod_namespace, who.pod_uid) +
         size_of(who.labels);
}

std::uint64_t size_of(const IncidentPod& pod) {
  std::uint64_t bytes = kPod + size_of_all(pod.node, pod.owner_kind, pod.owner_name, pod.disagreement_kind);
  bytes += size_of_all(pod.disagreement, pod.workload.kind, pod.workload.name, pod.workload.evidence);
  if (pod.last_termination) bytes += size_of_all(pod.last_termination->container_id, pod.last_termination->reason);
  return bytes;
}

std::uint64_t size_of(const IncidentVictim& victim) {
  return kVictim + size_of_all(victim.comm, victim.exe, victim.cmdline, victim.cgroup_path);
}

std::uint64_t size_of(const IncidentCapture& capture) {
  return kCapture +
         size_of_all(capture.file, capture.spool_file, capture.method, capture.trigger, capture.result, capture.reason,
                     capture.detail) +
         size_of(capture.memstats);
}

std::uint64_t size_of(const LimitShare& share) { return 3 * kNumber + size_of(share.container); }

std::uint64_t size_of(const IncidentWatermark& mark) { return kWatermark + size_of(mark.reason); }

std::uint64_t size_of(const IncidentTrend::Point& point) { return kTrendPoint + size_of_all(point.origin, point.file); }
std::uint64_t size_of(const CollectorComponent& component) {
  return kComponent + size_of_all(component.kind, component.id, component.module);
}
std::uint64_t size_of(const CollectorExporter& exporter) { return kComponent + size_of(exporter.id); }
// They have lists, and there are lists of them.
std::uint64_t size_of(const TrendSite& site);
std::uint64_t size_of(const Finding& finding);

template <typename T>
std::uint64_t size_of(const std::vector<T>& list) {
  std::uint64_t bytes = 0;
  for (const T& entry : list) bytes += size_of(entry);
  return bytes;
}

std::uint64_t size_of(const TrendSite& site) {
  return kTrendFigures + size_of(site.frames) + size_of_all(site.component, site.figures.judgement);
}
std::uint64_t size_of(const Finding& finding) { return kNumber + size_of(finding.cause) + size_of(finding.why); }

std::uint64_t size_of(const IncidentTrend& trend) {
  return kTrendFigures + size_of(trend.whole.judgement) + size_of(trend.sites) + size_of(trend.points);
}

std::uint64_t size_of(const IncidentVerdict& verdict) {
  const std::uint64_t limit = verdict.suggested_limit ? 2 * kNumber + size_of(verdict.suggested_limit->why) : 0;
  return kNumber + limit + size_of(verdict.cause) + size_of(verdict.why) + size_of(verdict.also);
}

std::uint64_t size_of(const IncidentCollector& collector) {
  std::uint64_t bytes = 6 * kNumber + size_of_all(collector.components_file, collector.components_since_file);
  if (collector.components) bytes += size_of(*collector.components);
  if (collector.exporters) bytes += size_of(*collector.exporters);
  return bytes;
}

template <typename T>
std::uint64_t size_of(const std::optional<T>& part) {
  return part ? size_of(*part) : 0;
}

std::uint64_t size_of_own_texts(const Incident& incident) {
  return size_of_all(incident.id, incident.scope, incident.cgroup_path, incident.oom_group_cgroup_path,
                     incident.trigger_comm, incident.limit_owner_cgroup_path, incident.coverage_method);
}

bool shorten(std::string& text) {
  constexpr std::size_t kKept = 200;
  if (text.size() <= kKept) return false;
  text = printable(text.substr(0, kKept)) + "...";
  return true;
}

}  // namespace

std::uint64_t serialised_bytes(const Incident& incident) {
  return kIncident + size_of_own_texts(incident) + size_of(incident.container) + size_of(incident.pod) +
         size_of(incident.limit_shares) + size_of(incident.victims) + size_of(incident.memory_stat) +
         size_of(incident.watermarks) + incident.series.size() * kSeriesPoint + size_of(incident.captures) +
         size_of(incident.trend) + size_of(incident.verdict) + size_of(incident.collector) + size_of(incident.lost) +
         size_of(incident.notes);
}

void bound_serialised(Incident& incident, std::uint64_t max_bytes) {
  const std::uint64_t bytes = serialised_bytes(incident);
  if (bytes <= max_bytes) return;
  bool is_shortened = false;
  for (std::size_t i = 1; i < incident.victims.size(); ++i) {
    IncidentVictim& victim = incident.victims[i];
    for (std::string* text : {&victim.cmdline, &victim.exe, &victim.cgroup_path}) is_shortened |= shorten(*text);
  }
  if (!is_shortened) return;
  incident.notes.push_back(fmt::format(
      "victims: command lines and paths behind the first are shortened: whole they would take {}", human_bytes(bytes)));
}

}  // namespace oomw
