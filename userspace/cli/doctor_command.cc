// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor.h"

#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/text.h"
#include "cli/commands.h"

namespace oomw::cli {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kIndent = 28;
constexpr std::size_t kMaxDetail = 4'096;

// Two columns, then text wrapped to the right of them; a word longer than a line is not cut.
void print_row(std::string_view name, std::string_view state, std::string_view detail) {
  const std::string shown = printable(detail, kMaxDetail);
  std::string_view text = shown;
  fmt::print("{:<19}{:<9}", name, state);
  std::size_t column = kIndent;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (column > kIndent && column + 1 + word.size() > kColumns) {
      fmt::print("\n{:<{}}", "", kIndent);
      column = kIndent;
    }
    fmt::print("{}{}", column > kIndent ? " " : "", word);
    column += word.size() + (column > kIndent ? 1 : 0);
  }
  fmt::print("\n");
}

void print_feature(const FeatureStatus& feature) {
  print_row(feature.feature, to_string(feature.rung), feature.lost.empty() ? "-" : feature.lost);
  for (const RefusedRung& refused : feature.refused) {
    print_row("", "", fmt::format("no {}: {}", to_string(refused.rung), refused.reason));
  }
}

void print_text(const DoctorReport& report) {
  fmt::print("kernel {}, memory cgroups {}\n\n", report.kernel_release, report.cgroup_version);
  print_row("FEATURE", "RUNG", "WHAT IT CANNOT GIVE, AND WHY THERE IS NO BETTER RUNG");
  for (const FeatureStatus& feature : report.features) print_feature(feature);
  fmt::print("\n");
  print_row("CHECK", "", "DETAIL");
  for (const DoctorCheck& check : report.checks) {
    print_row(check.name, check.ok ? "ok" : check.is_needed ? "MISSING" : "absent", check.detail);
  }
  const char* answer = report.can_do_main_job ? "The main job can be done on this node."
                       : ::geteuid() != 0     ? "What this node can do is seen by root only (or run it with sudo)."
                                              : "The main job can NOT be done on this node: see MISSING above.";
  fmt::print("\n{}\n", answer);
}

nlohmann::json to_json(const FeatureStatus& feature) {
  nlohmann::json refused = nlohmann::json::array();
  for (const RefusedRung& rung : feature.refused) {
    refused.push_back({{"rung", to_string(rung.rung)}, {"reason", rung.reason}});
  }
  return {
      {"feature", feature.feature}, {"rung", to_string(feature.rung)}, {"refused", refused}, {"lost", feature.lost}};
}

void print_json(const DoctorReport& report) {
  nlohmann::json json = {{"kernel_release", report.kernel_release},
                         {"cgroup_version", report.cgroup_version},
                         {"features", nlohmann::json::array()},
                         {"checks", nlohmann::json::array()},
                         {"can_do_main_job", report.can_do_main_job}};
  for (const FeatureStatus& feature : report.features) json["features"].push_back(to_json(feature));
  for (const DoctorCheck& check : report.checks) {
    json["checks"].push_back(
        {{"name", check.name}, {"ok", check.ok}, {"needed", check.is_needed}, {"detail", check.detail}});
  }
  fmt::print("{}\n", to_json_text(json, 2));
}

}  // namespace

int doctor_command(const CommandLine& line, const Config& config) {
  const DoctorReport report = examine(config);
  if (line.json) {
    print_json(report);
  } else {
    print_text(report);
  }
  return report.can_do_main_job ? kOk : kFailed;
}

}  // namespace oomw::cli
