// SPDX-License-Identifier: Apache-2.0
// Any bytes as incident.json: never a crash, and what is accepted can be written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "fuzz/cost_oracle.h"
#include "incident/incident.h"
#include "report/timeline_svg.h"
#include "store/directory_names.h"
#include "verdict/verdict.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const oomw::fuzz::CostOracle oracle(size);
  const auto incident = oomw::incident_from_json({reinterpret_cast<const char*>(data), size});
  if (!incident) return 0;
  const auto again = oomw::incident_from_json(oomw::to_json(*incident));
  if (!again) std::abort();
  if (again->victims.size() != incident->victims.size() || again->series.size() != incident->series.size())
    std::abort();
  if (again->trend.has_value() != incident->trend.has_value()) std::abort();
  (void)oomw::judge_incident(*incident);
  const std::string name = oomw::directory_name(*incident);
  if (name.size() > 200 || name.find('/') != std::string::npos || name.front() == '.') std::abort();
  (void)oomw::to_markdown(*incident, {{{"f", incident->cgroup_path}}, incident->cgroup_path});
  (void)oomw::timeline_svg(*incident);
  return 0;
}
