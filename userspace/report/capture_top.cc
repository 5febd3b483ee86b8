// SPDX-License-Identifier: Apache-2.0
#include "report/capture_top.h"

#include <fcntl.h>

#include <vector>

#include "base/files.h"
#include "facts/component_group.h"
#include "pprof/codec.h"
#include "pprof/growth_text.h"
#include "pprof/top.h"

namespace oomw {

namespace {

constexpr std::size_t kRows = 12;
constexpr pprof::ReadLimits kLimits{.max_inflated_bytes = 16u << 20, .max_items = 400'000};

// An earlier profile of the best capture's process.
struct Stage {
  std::string file;
  pprof::Profile profile;
};

std::optional<pprof::Profile> profile_of(const std::string& path) {
  const auto bytes = read_file(path, kMaxTopBytes);
  if (!bytes) return std::nullopt;
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
std::vector<Stage> trend_of(const Incident& incident, const IncidentCapture& best, const std::string& directory) {
  std::vector<Stage> stages;
  if (!incident.trend || incident.trend->pid != best.pid) return stages;
  for (const IncidentTrend::Point& point : incident.trend->points) {
    if (point.file.empty() || !(point.time < best.time)) continue;
    auto profile = profile_of(directory + "/" + point.file);
    if (!profile) break;
    stages.push_back({point.file, std::move(*profile)});
  }
  return stages;
}

// The profiles to compare the best capture with, oldest first: the trend's, which go back furthest, or else
// the first capture of the process.
std::vector<Stage> stages_before(const Incident& incident, const IncidentCapture& best, const std::string& directory) {
  std::vector<Stage> stages = trend_of(incident, best, directory);
  const IncidentCapture* first = first_before(incident, best);
  if (!stages.empty() || first == nullptr) return stages;
  auto profile = profile_of(directory + "/" + first->file);
  if (profile) stages.push_back({first->file, std::move(*profile)});
  return stages;
}

// "" if they cannot be compared: their types differ, or one is not a profile.
std::string growth_of(const std::vector<Stage>& stages, const pprof::NamedProfile& after) {
  if (stages.empty()) return "";
  std::vector<pprof::NamedProfile> named;
  for (const Stage& stage : stages) named.push_back({stage.file, stage.profile});
  const std::vector<pprof::NamedProfile> between(named.begin() + 1, named.end());
  return pprof::growth_text(named.front(), after, "inuse_space", component_group_of, between).value_or("");
}

}  // namespace

ProfileTexts read_profiles(const Incident& incident, const std::string& directory) {
  const IncidentCapture* best = best_capture(incident);
  ProfileTexts texts;
  for (const auto& [method, file] : file_by_method(incident, best)) {
    const auto profile = profile_of(directory + "/" + file);
    if (!profile) continue;
    texts.tops[file] = top_of(*profile);
    if (best == nullptr || file != best->file) continue;
    texts.growth = growth_of(stages_before(incident, *best, directory), {file, *profile});
  }
  return texts;
}

}  // namespace oomw
