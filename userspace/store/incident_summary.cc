// SPDX-License-Identifier: Apache-2.0
#include "store/incident_summary.h"

#include <algorithm>

#include "base/json_text.h"
#include "base/text.h"
#include "events/json_fields.h"
#include "incident/incident_facts.h"

namespace oomw {

namespace summary_json {

struct Format {
  static constexpr bool kWritesNull = false;
  static constexpr bool kTimesAsText = false;
};

void describe(auto& v, Of<IncidentSummary> auto& s) {
  v("id", s.id, Presence::kRequired);
  v("time_ns", s.time, Presence::kRequired);
  v("namespace", s.pod_namespace, Presence::kOmitted);
  v("pod", s.pod_name, Presence::kOmitted);
  v("container", s.container, Presence::kOmitted);
  v("place", s.place, Presence::kOmitted);
  v("workload", s.workload, Presence::kOmitted);
  v("victim", s.victim, Presence::kOmitted);
  v("cause", s.cause, Presence::kOmitted);
  v("confidence", s.confidence);
  v("sentence", s.sentence, Presence::kOmitted);
  v("claim", s.claim, Presence::kOmitted);
  v("code", s.code, Presence::kOmitted);
  v("operation", s.operation, Presence::kOmitted);
  v("limit_bytes", s.limit_bytes);
  v("profiles", s.profiles, Presence::kOmitted);
  v("coverage_ratio", s.coverage_ratio);
  v("coverage_method", s.coverage_method, Presence::kOmitted);
  v("repeats", s.repeats, Presence::kOmitted);
  v("last_repeat_ns", s.last_repeat);
}

}  // namespace summary_json

namespace {

// Each byte may take six in JSON: 2,240 of them stay below kMaxSummaryBytes.
constexpr std::size_t kMaxName = 160, kMaxSentence = 480;
constexpr std::size_t kShortId = 12;

std::string bounded(std::string_view text, std::size_t max) { return to_valid_utf8(text.substr(0, max)); }

// As the runtimes' own tools print them: "docker 0123456789ab", "pod UID/0123456789ab".
std::string short_ids_of(const ContainerIdentity& identity) {
  const std::string id = identity.id.substr(0, kShortId);
  if (!identity.pod_uid.empty()) return "pod " + identity.pod_uid + (id.empty() ? "" : "/" + id);
  return id.empty() || identity.runtime.empty() ? id : identity.runtime + " " + id;
}

void add_answer(const IncidentAnswer& answer, IncidentSummary& summary) {
  summary.sentence = to_valid_utf8(shortened(answer.sentence, kMaxSentence));
  if (!answer.culprit) return;
  summary.claim = bounded(answer.culprit->claim, 16);
  summary.code = bounded(answer.culprit->code, kMaxName);
  summary.operation = bounded(answer.culprit->operation, kMaxName);
}

}  // namespace

std::string place_name(const ContainerIdentity& identity, const std::string& cgroup_path) {
  std::string name = identity.pod_name.empty() ? identity.name
                                               : identity.pod_namespace + "/" + identity.pod_name + "/" + identity.name;
  if (name.empty()) name = identity.unit;
  if (name.empty()) name = short_ids_of(identity);
  return printable(name.empty() ? cgroup_path : name, kMaxName);
}

IncidentSummary summary_of(const Incident& incident) {
  IncidentSummary summary;
  summary.id = bounded(incident.id, 64);
  summary.time = incident.time;
  summary.pod_namespace = bounded(incident.container.pod_namespace, kMaxName);
  summary.pod_name = bounded(incident.container.pod_name, kMaxName);
  summary.container = bounded(incident.container.name, kMaxName);
  summary.place = place_name(incident.container, incident.cgroup_path);
  summary.workload = bounded(facts_of(incident).workload, kMaxName);
  if (!incident.victims.empty()) summary.victim = bounded(incident.victims.front().comm, 16);
  if (incident.verdict) {
    summary.cause = bounded(incident.verdict->cause, 32);
    summary.confidence = incident.verdict->confidence;
  }
  if (incident.answer) add_answer(*incident.answer, summary);
  summary.limit_bytes = incident.limit_bytes;
  summary.profiles = static_cast<std::uint64_t>(
      std::ranges::count(incident.captures, std::string_view("ok"), &IncidentCapture::result));
  summary.coverage_ratio = incident.coverage_ratio;
  summary.coverage_method = bounded(incident.coverage_method, 16);
  if (incident.repeats) summary.repeats = incident.repeats->count, summary.last_repeat = incident.repeats->last;
  return summary;
}

std::string to_summary_json(const IncidentSummary& summary) {
  return to_json_text(JsonWriter<summary_json::Format>::json_of(summary)) + "\n";
}

Result<IncidentSummary> summary_from_json(std::string_view text) {
  return from_json_text<summary_json::Format, IncidentSummary>(std::string(text));
}

}  // namespace oomw
