// SPDX-License-Identifier: Apache-2.0
// What is made of an incident for whoever reads it: the goldens' and the comparison's subject.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/read/incident_rows.h"
#include "incident/incident.h"
#include "kubernetes/pod_event.h"
#include "report/brief_view.h"
#include "report/capture_top.h"
#include "sinks/kubernetes_event.h"
#include "sinks/otlp_record.h"
#include "sinks/webhook.h"
#include "store/incident_store.h"
#include "store/incident_summary.h"
#include "verdict/verdict.h"
#include "web/site/incident_routes.h"

namespace oomw::test {

inline constexpr std::string_view kPlaceOfFiles = "/var/lib/oomwitness/incidents/ID";

inline std::string api_answer(const std::string& directory, const std::string& path) {
  static const SystemClock clock;
  const HttpRequest request{"GET", path, "", "localhost", false};
  for (const Route& route : incident_routes(std::make_shared<IncidentList>(directory, clock))) {
    if (fits(route.path, path)) return *route.handler(request).body;
  }
  return "";
}

// Which files there are; how long each is, the length of a sentence tells.
inline std::string without_sizes(const std::string& context) {
  nlohmann::json json = nlohmann::json::parse(context, nullptr, false);
  if (!json.is_object()) return context;
  for (nlohmann::json& file : json["files"]) file.erase("bytes");
  return json.dump();
}

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// The verdict and the answer by this build's rules, whatever the incident says: what a later rule would have said.
inline std::string judged_anew(Incident incident) {
  incident.verdict.reset();
  conclude(incident);
  const auto& verdict = incident.verdict;
  std::string text = verdict ? verdict->cause + fmt::format(" {:.2f}", verdict->confidence) : "(none) 0.00";
  if (verdict) {
    for (const auto& other : verdict->also) text += fmt::format(" {}={:.2f}", other.cause, other.confidence);
  }
  text += "\n  " + (incident.answer ? incident.answer->sentence : "") + "\n";
  if (!incident.answer || !incident.answer->culprit) return text;
  const auto& culprit = *incident.answer->culprit;
  return text + fmt::format("  culprit: {} {}\n", culprit.code, fmt::join(culprit.path, " "));
}

// What is stored of an incident that a recording gave: no file of evidence is there.
inline Result<std::string> store_without_evidence(const Incident& incident, const std::string& data_dir) {
  IncidentStore store(data_dir, [](const EvidenceFile& file, const std::string&) {
    return Result<>(tl::make_unexpected(Error{ErrorCode::kNotFound, file.name}));
  });
  ASSIGN_OR_RETURN(const WrittenIncident written, store.write(incident));
  return written.directory;
}

// By the name of its file. directory: the incident's, with its files; every time of day is an hour after the kill.
inline std::map<std::string, std::string> outputs_of(const Incident& incident, const std::string& directory) {
  const std::string place(kPlaceOfFiles), json = to_json(incident);
  const WallTime now{incident.time.ns + Nanoseconds(std::chrono::hours(1)).count()};
  const std::string tail = where_the_rest_is("oomwitness show ID --full", place, {});
  const IncidentSummary summary = summary_of(incident);
  OtlpMapping mapping;
  mapping.cluster_name = "prod";
  mapping.host_name = "n1";
  std::map<std::string, std::string> outputs = {
      {"incident.json", json},
      {"terminal.txt", brief_text(incident, tail, now, {80, true})},
      {"plain.txt", brief_text(incident, tail, now, {})},
      {"report.md", to_markdown(incident, read_profiles(incident, directory))},
      {"list.txt", cli::incident_rows({summary}, {.view = {}, .now = now})},
      {"summary.json", to_summary_json(summary)},
      {"otlp.json", to_otlp_json(otlp_record_of(incident, place, 1, now, mapping))},
      {"webhook.json", cloud_event_of(incident, "{}", "/clusters/prod/nodes/n1", 1)},
      {"context.json", replaced(without_sizes(api_answer(directory, "/api/v1/incidents/" + incident.id + "/context")),
                                directory, place)},
      {"judged.txt", judged_anew(incident)},
  };
  const auto event = pod_event_of(incident, place, "");
  outputs["event.json"] = event ? event_json(*event, "n1") : "";
  return outputs;
}

}  // namespace oomw::test
