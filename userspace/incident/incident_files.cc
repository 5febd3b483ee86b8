// SPDX-License-Identifier: Apache-2.0
#include "incident/incident_files.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "events/contents_file.h"

namespace oomw {
namespace {

std::vector<std::string> comments_of(const Incident& incident, const IncidentCapture& capture) {
  std::vector<std::string> comments{
      fmt::format("oomwitness: incident={} lead_seconds={:.3f}", incident.id, capture.lead_seconds)};
  if (const auto ratio = coverage_of(incident, capture)) {
    comments.push_back(
        fmt::format("oomwitness: coverage={:.3f} (in use / anonymous memory of pid {})", *ratio, capture.pid));
  }
  return comments;
}

}  // namespace

bool has_analysis_file(const Incident& incident, std::string_view name) {
  return std::ranges::any_of(incident.analyses, [&](const IncidentAnalysis& analysis) {
    return std::ranges::find(analysis.files, name, &IncidentAnalysis::File::name) != analysis.files.end();
  });
}

std::string best_profile_file(const Incident& incident) {
  constexpr double kLittle = 0.25;  // of the memory: what filled it is not in the heap
  const bool has_growth = incident.growth && !incident.growth->file.empty();
  if (has_growth && incident.coverage_ratio.value_or(1) < kLittle) return incident.growth->file;
  const IncidentCapture* best = best_capture(incident);
  if (best != nullptr && !best->file.empty()) return best->file;
  for (const char* file : {kContentsFile, kHoldersProfile}) {
    if (has_analysis_file(incident, file)) return file;
  }
  return has_growth ? incident.growth->file : "";
}

std::string earlier_profile_file(const Incident& incident, const std::string& later) {
  if (later == kContentsFile && has_analysis_file(incident, kContentsBeforeFile)) return kContentsBeforeFile;
  const auto capture = std::ranges::find(incident.captures, later, &IncidentCapture::file);
  if (later.empty() || capture == incident.captures.end()) return "";
  const IncidentCapture* first = first_before(incident, *capture);
  return first == nullptr ? "" : first->file;
}

std::string capture_file_name(std::size_t number, std::string_view method) {
  return fmt::format("capture-{:02}-{}.pb.gz", number, to_file_component(std::string(method), 16));
}

std::vector<EvidenceFile> evidence_files_of(const Incident& incident) {
  std::vector<EvidenceFile> files;
  for (const IncidentCapture& capture : incident.captures) {
    if (capture.file.empty() || capture.spool_file.empty()) continue;
    files.push_back({capture.file, capture.spool_file, comments_of(incident, capture)});
  }
  for (const IncidentAnalysis& analysis : incident.analyses) {
    for (const IncidentAnalysis::File& file : analysis.files) {
      if (!file.name.empty() && !file.spool_file.empty()) files.push_back({file.name, file.spool_file, {}});
    }
  }
  if (incident.growth && !incident.growth->file.empty() && !incident.growth->spool_file.empty()) {
    files.push_back({incident.growth->file, incident.growth->spool_file, {}});
  }
  for (const auto* trend : {&incident.trend, &incident.contents_trend}) {
    if (!*trend) continue;
    for (const IncidentTrend::Point& point : (*trend)->points) {
      if (!point.file.empty() && !point.spool_file.empty()) files.push_back({point.file, point.spool_file, {}});
    }
    if (!(*trend)->spool_file.empty()) files.push_back({kTrendFile, (*trend)->spool_file, {}});
  }
  return files;
}

}  // namespace oomw
