// SPDX-License-Identifier: Apache-2.0
#include "report/capture_top.h"

#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "facts/component_group.h"
#include "pprof/codec.h"
#include "pprof/growth_text.h"
#include "pprof/top.h"
#include "report/own_captures.h"

namespace oomw {

namespace {

constexpr std::size_t kRows = 12;
constexpr pprof::ReadLimits kLimits{.max_inflated_bytes = 16u << 20, .max_items = 400'000};

// An earlier profile of the best capture's process.
struct Stage {
  std::string file;
  pprof::Profile profile;
};

std::optional<pprof::Profile> profile_of(const Result<std::string>& bytes) {
  if (!bytes || bytes->size() > kMaxTopBytes) return std::nullopt;
  auto profile = pprof::read(*bytes, kLimits);
  return profile ? std::optional(std::move(*profile)) : std::nullopt;
}

std::string top_of(const pprof::Profile& profile) {
  const bool has_inuse = profile.type_index("inuse_space") >= 0;
  return pprof::to_text(pprof::top(profile, has_inuse ? "inuse_space" : ""), kRows);
}

// The newest file of each method, as captures are in order of time; the best capture replaces that of its method.
std::map<std::string, std::string> file_by_method(const Incident& incident, const IncidentCapture* best) {
  std::map<std::string, std::string> files;
  for (const IncidentCapture& capture : incident.captures) {
    if (!capture.file.empty()) files[capture.method] = capture.file;
  }
  if (best != nullptr && !best->file.empty()) files[best->method] = best->file;
  return files;
}

// The readings that the process's trend kept as profiles: its baseline, the middle and the last before the kill.
std::vector<ReportProfile> trend_of(const Incident& incident, const IncidentCapture& best) {
  std::vector<ReportProfile> trend;
  if (!incident.trend || incident.trend->pid != best.pid) return trend;
  for (const IncidentTrend::Point& point : incident.trend->points) {
    if (point.file.empty() || !(point.time < best.time)) continue;
    trend.push_back({point.file, ReportProfile::Use::kTrend});
  }
  return trend;
}

// The profiles to compare the best capture with, oldest first: the trend's, which go back furthest, or else
// the first capture of the process.
std::vector<Stage> stages_before(std::span<const ReportProfile> profiles, const ReadProfileBytes& read) {
  std::vector<Stage> stages;
  bool is_trend_over = false;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const bool is_trend = profiles[i].use == ReportProfile::Use::kTrend && !is_trend_over;
    const bool is_first = profiles[i].use == ReportProfile::Use::kFirst && stages.empty();
    if (!is_trend && !is_first) continue;
    auto profile = profile_of(read(i));
    is_trend_over |= is_trend && !profile;
    if (profile) stages.push_back({profiles[i].file, std::move(*profile)});
  }
  return stages;
}

// "" if they cannot be compared: their types differ, or one is not a profile.
std::string growth_of(std::vector<Stage> stages, Stage after) {
  constexpr const char* kType = "inuse_space";
  if (stages.empty()) return "";
  for (Stage& stage : stages) (void)remove_http_captures(stage.profile, kType);
  const std::uint64_t own_bytes = remove_http_captures(after.profile, kType);
  std::vector<pprof::NamedProfile> named;
  for (const Stage& stage : stages) named.push_back({stage.file, stage.profile});
  const std::vector<pprof::NamedProfile> between(named.begin() + 1, named.end());
  std::string text =
      pprof::growth_text(named.front(), {after.file, after.profile}, kType, component_group_of, between).value_or("");
  if (text.empty() || own_bytes == 0) return text;
  return fmt::format("left out: {} that net/http/pprof allocated in the program to answer captures by HTTP\n",
                     human_bytes(own_bytes)) +
         text;
}

}  // namespace

std::vector<ReportProfile> report_profiles(const Incident& incident) {
  using Use = ReportProfile::Use;
  const IncidentCapture* best = best_capture(incident);
  std::vector<ReportProfile> profiles;
  for (const auto& [method, file] : file_by_method(incident, best)) {
    profiles.push_back({file, best != nullptr && file == best->file ? Use::kBest : Use::kTop});
  }
  if (best != nullptr && !best->file.empty()) {
    for (ReportProfile& stage : trend_of(incident, *best)) profiles.push_back(std::move(stage));
    if (const IncidentCapture* first = first_before(incident, *best)) profiles.push_back({first->file, Use::kFirst});
  }
  if (profiles.size() > kMaxReportProfiles) profiles.resize(kMaxReportProfiles);
  return profiles;
}

ProfileTexts texts_of(std::span<const ReportProfile> profiles, const ReadProfileBytes& read) {
  ProfileTexts texts;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const auto& [file, use] = profiles[i];
    if (use != ReportProfile::Use::kTop && use != ReportProfile::Use::kBest) continue;
    auto profile = profile_of(read(i));
    if (!profile) continue;
    texts.tops[file] = top_of(*profile);
    if (use == ReportProfile::Use::kBest) {
      texts.growth = growth_of(stages_before(profiles, read), {file, std::move(*profile)});
    }
  }
  return texts;
}

ProfileTexts read_profiles(const Incident& incident, const std::string& directory) {
  const std::vector<ReportProfile> profiles = report_profiles(incident);
  return texts_of(profiles,
                  [&](std::size_t index) { return read_file(directory + "/" + profiles[index].file, kMaxTopBytes); });
}

}  // namespace oomw
