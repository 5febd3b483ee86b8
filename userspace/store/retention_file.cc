// SPDX-License-Identifier: Apache-2.0
#include "store/retention_file.h"

#include <algorithm>

#include "base/files.h"
#include "base/json_text.h"
#include "events/json_fields.h"

namespace oomw {

namespace retention_json {

struct Format {
  static constexpr bool kWritesNull = false;
  static constexpr bool kTimesAsText = true;
};

constexpr int kVersion = 1;

void describe(auto& v, Of<KnownFacts> auto& known) {
  v("time", known.facts.time, Presence::kRequired);
  v("changed_ns", known.changed_ns, Presence::kRequired);
  v("tenant", known.facts.tenant);
  v("workload", known.facts.workload);
  v("evidence", known.facts.evidence);
}

void describe(auto& v, Of<DroppedIncidents> auto& dropped) {
  v("count", dropped.count, Presence::kRequired);
  v("last", dropped.last, Presence::kRequired);
}

void describe(auto& v, Of<ClockSteadiness::State> auto& clock) {
  v("boot_id", clock.last.boot_id, Presence::kRequired);
  v("wall", clock.last.wall, Presence::kRequired);
  v("since_boot_ns", clock.last.since_boot, Presence::kRequired);
  v("doubted_since_ns", clock.doubted_since);
}

void describe(auto& v, Of<RetentionState> auto& state) {
  int version = kReads<decltype(v)> ? 0 : kVersion;
  v("version", version, Presence::kRequired);
  v.check(version == kVersion, "version", "one this version reads (1)");
  v("clock", state.clock);
  v("dropped", state.dropped);
  v("dropped_others", state.dropped_others);
  v("incidents", state.incidents);
}

}  // namespace retention_json

namespace {

constexpr std::size_t kMaxRetentionBytes = 64u << 20;  // 100,000 incidents take 30 MB

std::string retention_path(const std::string& data_dir) { return data_dir + "/retention.json"; }

}  // namespace

void RetentionState::add_dropped(const IncidentFacts& facts) {
  const std::string workload = facts.workload.empty() ? "unreadable" : facts.workload;
  if (!dropped.contains(workload) && dropped.size() >= kMaxDroppedWorkloads) {
    const auto oldest = std::ranges::min_element(dropped, {}, [](const auto& entry) { return entry.second.last; });
    dropped_others += oldest->second.count;
    dropped.erase(oldest);
  }
  DroppedIncidents& of = dropped[workload];
  ++of.count;
  of.last = std::max(of.last, facts.time);
}

Result<RetentionState> load_retention(const std::string& data_dir) {
  ASSIGN_OR_RETURN(const std::string text, read_file(retention_path(data_dir), kMaxRetentionBytes));
  auto state = from_json_text<retention_json::Format, RetentionState>(text);
  if (!state) return tl::make_unexpected(std::move(state).error().with_context(retention_path(data_dir)));
  return state;
}

Result<> save_retention(const std::string& data_dir, const RetentionState& state) {
  const auto json = JsonWriter<retention_json::Format>::json_of(state);
  return write_file_atomic(retention_path(data_dir), to_json_text(json, 1) + "\n");
}

}  // namespace oomw
