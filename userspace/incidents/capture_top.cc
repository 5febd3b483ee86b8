// SPDX-License-Identifier: Apache-2.0
#include "incidents/capture_top.h"

#include <fcntl.h>

#include "base/files.h"
#include "pprof/codec.h"
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

std::optional<std::string> top_of(const std::string& path) {
  const auto profile = profile_of(path);
  if (!profile) return std::nullopt;
  const bool has_inuse = profile->type_index("inuse_space") >= 0;
  return pprof::to_text(pprof::top(*profile, has_inuse ? "inuse_space" : ""), kRows);
}

}  // namespace

std::map<std::string, std::string> tops_of(const Incident& incident, const std::string& directory) {
  std::map<std::string, std::string> file_by_method;
  for (const IncidentCapture& capture : incident.captures) {
    if (!capture.file.empty()) file_by_method[capture.method] = capture.file;  // by time: the newest stays
  }
  if (const IncidentCapture* best = best_capture(incident); best != nullptr && !best->file.empty()) {
    file_by_method[best->method] = best->file;
  }
  std::map<std::string, std::string> tops;
  for (const auto& [method, file] : file_by_method) {
    if (auto text = top_of(directory + "/" + file)) tops[file] = std::move(*text);
  }
  return tops;
}

void add_components(Incident& incident, const std::string& directory) {
  const IncidentCapture* best = best_capture(incident);
  if (best == nullptr || best->file.empty()) return;
  const auto profile = profile_of(directory + "/" + best->file);
  if (!profile) return;
  auto components = collector_components_of(*profile);
  if (components.empty()) return;
  if (!incident.collector) incident.collector.emplace();
  incident.collector->components = std::move(components);
  incident.collector->components_file = best->file;
}

}  // namespace oomw
