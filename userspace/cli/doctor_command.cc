// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"

namespace oomw::cli {
namespace {

void print_text(const DoctorReport& report) {
  fmt::print("kernel {}, memory cgroups {}\n\n{:<20}{:<9}{}\n", report.kernel_release, report.cgroup_version, "FEATURE",
             "RUNG", "NOTES");
  for (const FeatureStatus& feature : report.features) {
    fmt::print("{:<20}{:<9}{}\n", feature.feature, to_string(feature.rung), feature.lost.empty() ? "-" : feature.lost);
    for (const RefusedRung& refused : feature.refused) {
      fmt::print("{:<29}{} refused: {}\n", "", to_string(refused.rung), refused.reason);
    }
  }
  fmt::print("\n{:<20}{:<9}{}\n", "CHECK", "", "DETAIL");
  for (const DoctorCheck& check : report.checks) {
    fmt::print("{:<20}{:<9}{}\n", check.name, check.ok ? "ok" : check.is_needed ? "MISSING" : "absent", check.detail);
  }
  fmt::print("\n{}\n", report.can_do_main_job ? "The main job can be done on this node."
                                              : "The main job can NOT be done on this node: see MISSING above.");
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
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
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
