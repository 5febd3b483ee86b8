// SPDX-License-Identifier: Apache-2.0
#include "incidents/capture_top.h"

#include <fcntl.h>

#include "base/files.h"
#include "incidents/component_group.h"
#include "pprof/codec.h"
#include "pprof/growth_text.h"
#include "pprof/top.h"

namespace oomw {

namespace {

constexpr std::size_t kRows = 12;
constexpr pprof::ReadLimits kLimits{.max_inflated_bytes = 16u << 20, .max_items = 400'000};

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

void add_components(Incident& incident, const pprof::Profile& profile, const std::string& file) {
  auto components = collector_components_of(profile);
  if (components.empty()) return;
  if (!incident.collector) incident.collector.emplace();
  incident.collector->components = std::move(components);
  incident.collector->components_file = file;
}

// By time, so of each method the newest stays; the best one whenever it was taken.
std::map<std::string, std::string> file_by_method(const Incident& incident, const IncidentCapture* best) {
  std::map<std::string, std::string> files;
  for (const IncidentCapture& capture : incident.captures) {
    if (!capture.file.empty()) files[capture.method] = capture.file;
  }
  if (best != nullptr && !best->file.empty()) files[best->method] = best->file;
  return files;
}

// "" where they cannot be compared: their types differ, or one is no profile.
std::string growth_of(const Incident& incident, const IncidentCapture& best, const pprof::Profile& after,
                      const std::string& directory) {
  const IncidentCapture* first = first_before(incident, best);
  const auto before = first == nullptr ? std::nullopt : profile_of(directory + "/" + first->file);
  if (!before) return "";
  return pprof::growth_text({first->file, *before}, {best.file, after}, "inuse_space", component_group_of).value_or("");
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
    add_components(incident, *profile, file);
    texts.growth = growth_of(incident, *best, *profile, directory);
  }
  return texts;
}

}  // namespace oomw
