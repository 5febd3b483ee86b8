// SPDX-License-Identifier: Apache-2.0
#include "daemon/replay.h"

#include <algorithm>

#include "daemon/pipeline.h"
#include "events/record.h"

namespace oomw {
namespace {

// A recording does not hold the bytes of profiles, so its incidents name no files.
void forget_files(Event& event) {
  if (auto* capture = std::get_if<CaptureFinished>(&event)) capture->spool_file.clear();
  if (auto* trend = std::get_if<TrendJudged>(&event)) trend->spool_file.clear();
}

void keep_last_form(std::vector<Incident> ready, std::vector<Incident>& incidents) {
  for (Incident& incident : ready) {
    const auto same = std::find_if(incidents.begin(), incidents.end(),
                                   [&](const Incident& known) { return known.id == incident.id; });
    if (same == incidents.end()) {
      incidents.push_back(std::move(incident));
    } else {
      *same = std::move(incident);
    }
  }
}

}  // namespace

Result<std::vector<Incident>> replay(const std::string& recording_path, const TriggerConfig& triggers,
                                     const CorrelatorConfig& correlator) {
  ASSIGN_OR_RETURN(const auto recording, Recording::open(recording_path));
  const std::int64_t offset_ns = recording->wall_minus_monotonic_ns();
  Pipeline pipeline(triggers, correlator, std::nullopt);
  std::vector<Incident> incidents;
  MonotonicTime now;
  for (;;) {
    ASSIGN_OR_RETURN(auto event, recording->next());
    if (!event) break;
    forget_files(*event);
    // Events of several sources are recorded in the order they were handled, which may differ
    // from the order of their times by a reading's length; time here never runs backward.
    now = std::max(now, time_of(*event));
    keep_last_form(pipeline.take_incidents(now, offset_ns), incidents);
    pipeline.apply(*event);
    pipeline.tick(now);
    (void)pipeline.take_orders();  // captures were taken, or not, when this was recorded
  }
  pipeline.finish();
  keep_last_form(pipeline.take_incidents(now + correlator.amend + correlator.settle, offset_ns), incidents);
  return incidents;
}

}  // namespace oomw
