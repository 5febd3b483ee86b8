// SPDX-License-Identifier: Apache-2.0
#include "report/capture_top.h"

#include <fcntl.h>

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "facts/component_group.h"
#include "pprof/codec.h"
#include "pprof/growth_text.h"
#include "pprof/top.h"

namespace oomw {

namespace {

constexpr std::size_t kRows = 12;
constexpr int kMaxTrendFiles = 3;
constexpr pprof::ReadLimits kLimits{.max_inflated_bytes = 16u << 20, .max_items = 400'000};

// An earlier profile of the best capture's process.
struct Stage {
  std::string file;
  pprof::Profile profile;
  bool is_same_series = false;  // as the best capture: held now, or live at the last collection
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

// Sets each component's growth since `first`, which shows the same series as the components' profile.
void add_growth(IncidentCollector& collector, const Stage& first, const pprof::Profile& after) {
  const auto growth = pprof::growth_by(first.profile, after, "inuse_space", component_group_of);
  if (!growth) return;
  collector.components_since_file = first.file;
  for (CollectorComponent& component : *collector.components) {
    const std::string name = component.kind + "/" + component.id;
    const auto row = std::ranges::find(growth->rows, name, &pprof::GroupRow::name);
    component.growth_bytes = row == growth->rows.end() ? 0 : row->growth();
  }
}

void add_components(Incident& incident, const std::vector<Stage>& stages, const pprof::Profile& profile,
                    const std::string& file) {
  auto components = collector_components_of(profile);
  if (components.empty()) return;
  if (!incident.collector) incident.collector.emplace();
  incident.collector->components = std::move(components);
  incident.collector->components_file = file;
  if (!stages.empty() && stages.front().is_same_series) add_growth(*incident.collector, stages.front(), profile);
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

bool is_of(const pprof::Profile& profile, std::int32_t pid) {
  const std::string wanted = fmt::format(" pid={} ", pid);
  return std::ranges::any_of(profile.comments, [&](const std::string& comment) {
    return comment.starts_with("oomwitness: method=trend ") && (comment + " ").find(wanted) != std::string::npos;
  });
}

// The profiles that the process's trend kept: its baseline, the middle and the last reading before the kill.
std::vector<Stage> trend_of(const IncidentCapture& best, const std::string& directory) {
  std::vector<Stage> stages;
  for (int number = 1; number <= kMaxTrendFiles; ++number) {
    const std::string file = fmt::format("trend-{:02}.pb.gz", number);
    auto profile = profile_of(directory + "/" + file);
    if (!profile || !is_of(*profile, best.pid) || profile->time_nanos >= best.time.ns) break;
    stages.push_back({file, std::move(*profile), !shows_last_collection(best)});
  }
  return stages;
}

// The profiles to compare the best capture with, oldest first: the trend's, which go back furthest, or else
// the first capture of the process.
std::vector<Stage> stages_before(const Incident& incident, const IncidentCapture& best, const std::string& directory) {
  std::vector<Stage> stages = trend_of(best, directory);
  const IncidentCapture* first = first_before(incident, best);
  if (!stages.empty() || first == nullptr) return stages;
  auto profile = profile_of(directory + "/" + first->file);
  const bool is_same_series = shows_last_collection(*first) == shows_last_collection(best);
  if (profile) stages.push_back({first->file, std::move(*profile), is_same_series});
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

ProfileTexts read_profiles(Incident& incident, const std::string& directory) {
  const IncidentCapture* best = best_capture(incident);
  ProfileTexts texts;
  for (const auto& [method, file] : file_by_method(incident, best)) {
    const auto profile = profile_of(directory + "/" + file);
    if (!profile) continue;
    texts.tops[file] = top_of(*profile);
    if (best == nullptr || file != best->file) continue;
    const std::vector<Stage> stages = stages_before(incident, *best, directory);
    add_components(incident, stages, *profile, file);
    texts.growth = growth_of(stages, {file, *profile});
  }
  return texts;
}

}  // namespace oomw
