// SPDX-License-Identifier: Apache-2.0
#include "web/site/live_json.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/text.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxContainers = 500;
constexpr double kSoonSeconds = 3'600, kMuch = 0.5;

template <typename T>
nlohmann::json value_of(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

double fill_of(const ContainerMetrics& container) {
  if (!container.limit_bytes || *container.limit_bytes == 0 || !container.usage_bytes) return 0;
  return static_cast<double>(*container.usage_bytes) / static_cast<double>(*container.limit_bytes);
}

bool is_soon(const ContainerMetrics& container) {
  return container.seconds_to_limit && *container.seconds_to_limit < kSoonSeconds;
}

// Why somebody should see it; null: nobody need.
nlohmann::json near_of(const ContainerMetrics& container) {
  if (is_soon(container)) return "time";
  if (container.suspected_leak.value_or(false)) return "leak";
  return fill_of(container) >= kMuch ? nlohmann::json("use") : nlohmann::json();
}

nlohmann::json to_json(const GrowingContents& growing) {
  if (growing.name.empty()) return {};
  return {{"name", to_valid_utf8(growing.name)},
          {"first_bytes", growing.first_bytes},
          {"last_bytes", growing.last_bytes},
          {"seconds", growing.seconds}};
}

nlohmann::json to_json(const ContainerMetrics& container) {
  return {{"namespace", to_valid_utf8(container.k8s_namespace)},
          {"pod", to_valid_utf8(container.pod)},
          {"container", to_valid_utf8(container.container)},
          {"usage_bytes", value_of(container.usage_bytes)},
          {"limit_bytes", value_of(container.limit_bytes)},
          {"growth_bytes_per_second", value_of(container.growth_bytes_per_second)},
          {"seconds_to_limit", value_of(container.seconds_to_limit)},
          {"suspected_leak", value_of(container.suspected_leak)},
          {"near", near_of(container)},
          {"growing", to_json(container.growing)}};
}

}  // namespace

std::string now_json(const MetricsSnapshot& snapshot) {
  std::vector<const ContainerMetrics*> limited;
  for (const ContainerMetrics& container : snapshot.containers) {
    if (container.limit_bytes && container.usage_bytes && !container.is_removed) limited.push_back(&container);
  }
  std::ranges::stable_sort(limited, {}, [](const auto* one) {
    return std::tuple(is_soon(*one) ? *one->seconds_to_limit : kSoonSeconds, -fill_of(*one));
  });
  nlohmann::json out = {{"with_a_limit", limited.size()}, {"containers", nlohmann::json::array()}};
  for (std::size_t i = 0; i < std::min(kMaxContainers, limited.size()); ++i) {
    out["containers"].push_back(to_json(*limited[i]));
  }
  return to_json_text(out);
}

std::string health_json(const MetricsSnapshot& snapshot) {
  nlohmann::json shares = nlohmann::json::object();
  for (const auto& [kind, count] : snapshot.share_exceeded) shares[std::string(to_string(kind))] = count;
  nlohmann::json features = nlohmann::json::object();
  for (const auto& [feature, rung] : snapshot.feature_rung) {
    const auto lost = snapshot.feature_lost.find(feature);
    features[feature] = {{"rung", rung},
                         {"lost", lost == snapshot.feature_lost.end() ? "" : printable(lost->second, 512)}};
  }
  std::uint64_t kills = 0;
  for (const auto& [labels, count] : snapshot.kills) kills += count;
  const nlohmann::json out = {{"ready", snapshot.ready},
                              {"is_standing_by", snapshot.is_standing_by},
                              {"features", features},
                              {"lost", snapshot.lost},
                              {"over_share", shares},
                              {"failing_sinks", snapshot.failing_sinks},
                              {"kills", {{"counted", kills}, {"unobserved", snapshot.kernel_oom_kills_unobserved}}},
                              {"incidents",
                               {{"written", snapshot.incidents_written},
                                {"waiting", snapshot.incidents_waiting},
                                {"write_errors", snapshot.incident_write_errors},
                                {"pruned", snapshot.incidents_pruned}}},
                              {"reader_jobs", snapshot.reader_jobs},
                              {"data_dir_writable", snapshot.data_dir_writable},
                              {"cgroups", snapshot.cgroups},
                              {"processes", snapshot.processes},
                              {"resident_bytes", snapshot.process_resident_bytes},
                              {"cpu_seconds", snapshot.process_cpu_seconds}};
  return to_json_text(out);
}

}  // namespace oomw
