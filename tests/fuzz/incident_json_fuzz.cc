// SPDX-License-Identifier: Apache-2.0
// Any bytes as incident.json: never a crash, and what is accepted can be written and read again.
#include <cstdlib>
#include <string>

#include "fuzz/text_target.h"
#include "incident/incident.h"
#include "report/timeline_svg.h"
#include "verdict/verdict.h"

void fuzz_text(std::string_view text) {
  const auto incident = oomw::incident_from_json(text);
  if (!incident) return;
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
}
