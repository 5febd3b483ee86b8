// SPDX-License-Identifier: Apache-2.0
#include "sinks/memory_events.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "model/container_view.h"
#include "sinks/memory_report.h"

namespace oomw {
namespace {

constexpr int kWarning = 13;  // SeverityNumber
constexpr std::size_t kMaxName = 256;

// What reclaim could not free, against the limit that stops it first. Without that figure it is not judged.
std::optional<double> held_share(const CgroupState& state, const MemoryModel& model) {
  const auto limit = model.effective_limit(state.id);
  if (!limit || limit->limit_bytes == 0 || !limit->nonreclaimable_bytes) return std::nullopt;
  return static_cast<double>(*limit->nonreclaimable_bytes) / static_cast<double>(limit->limit_bytes);
}

std::string name_of(const ContainerUsage& usage) {
  const ContainerIdentity& who = usage.container;
  if (!who.pod_name.empty()) return who.pod_namespace + "/" + who.pod_name + (who.name.empty() ? "" : "/" + who.name);
  if (!who.name.empty()) return who.name;
  return who.unit.empty() ? usage.cgroup_path : who.unit;
}

OtlpRecord record_of(const CgroupState& state, const MemoryModel& model, std::int64_t wall_offset_ns, MonotonicTime now,
                     const OtlpMapping& mapping) {
  const ContainerUsage usage = container_usage_of(state, model, wall_offset_ns);
  OtlpRecord record;
  record.time = record.observed = {now.ns + wall_offset_ns};
  record.severity = kWarning;
  record.body = printable(name_of(usage), kMaxName);
  record.resource = otlp_resource_of({usage.container, usage.pod ? &*usage.pod : nullptr, ""}, mapping);
  OtlpAttributes attributes(record.attributes);
  attributes.text("oomwitness.cgroup", usage.cgroup_path);
  attributes.integer("oomwitness.usage", usage.usage_bytes);
  const auto limit = model.effective_limit(state.id);
  if (limit) attributes.integer("oomwitness.limit", std::optional(limit->limit_bytes));
  attributes.number("oomwitness.memory.growth", usage.growth_bytes_per_second);
  attributes.number("oomwitness.memory.time_to_limit", usage.seconds_to_limit);
  return record;
}

}  // namespace

void MemoryEvents::forget_the_gone(const MemoryModel& model) {
  std::erase_if(watched_, [&](const auto& entry) {
    const CgroupState* state = model.find_cgroup(entry.first);
    return state == nullptr || state->removed_at.has_value();
  });
}

bool MemoryEvents::is_near_long_enough(const CgroupState& state, const MemoryModel& model, MonotonicTime now) {
  const auto share = held_share(state, model);
  const bool is_near = share && *share * 100 >= kNearPercent && now - state.sampled_at <= kFresh;
  if (!is_near) {
    const auto found = watched_.find(state.id);
    if (found != watched_.end()) found->second.near_since.reset();
    return false;
  }
  Watched& watched = watched_[state.id];
  if (!watched.near_since) watched.near_since = now;
  if (now - *watched.near_since < near_for_) return false;
  return !watched.said_near || now - *watched.said_near >= kNearAgain;
}

bool MemoryEvents::may_say_one_more(MonotonicTime now) {
  if (!hour_ || now - *hour_ >= std::chrono::hours(1)) {
    hour_ = now;
    said_ = 0;
  }
  if (said_ < kMostAnHour) return ++said_, true;
  ++left_out_;
  return false;
}

std::vector<OtlpRecord> MemoryEvents::observe(const MemoryModel& model, const LeakSuspicions& suspicions,
                                              MonotonicTime now, std::int64_t wall_offset_ns,
                                              const OtlpMapping& mapping) {
  std::vector<OtlpRecord> records;
  forget_the_gone(model);
  for (const auto& [key, suspicion] : suspicions) {
    const ProcessState* process = suspicion.is_suspected ? model.find_process(key) : nullptr;
    const CgroupState* container = process != nullptr ? model.container_of(process->cgroup) : nullptr;
    if (container == nullptr && process != nullptr) container = model.find_cgroup(process->cgroup);
    // One that is gone is forgotten, and would be said again.
    if (container == nullptr || container->removed_at || std::exchange(watched_[container->id].has_said_leak, true))
      continue;
    if (!may_say_one_more(now)) continue;
    OtlpRecord& record = records.emplace_back(record_of(*container, model, wall_offset_ns, now, mapping));
    record.event_name = kSuspectedLeakEvent;
    record.body = "Suspected leak in " + record.body + ": the heap of " + printable(process->comm, 64) +
                  " keeps growing where it was.";
    if (const std::string grows = suspicion.growing.text(); !grows.empty()) {
      record.body += " What grows most: " + grows + ".";
    }
    OtlpAttributes attributes(record.attributes);
    attributes.integer("process.pid", std::optional(key.pid));
    attributes.text("process.executable.name", process->comm);
  }
  for (const CgroupState* state : read_containers(model)) {
    if (!is_near_long_enough(*state, model, now)) continue;
    watched_[state->id].said_near = now;
    if (!may_say_one_more(now)) continue;
    OtlpRecord& record = records.emplace_back(record_of(*state, model, wall_offset_ns, now, mapping));
    record.event_name = kNearLimitEvent;
    record.body = fmt::format("{} was at {} % of its limit or more for {} s, page cache not counted.", record.body,
                              kNearPercent, near_for_ / std::chrono::seconds(1));
    OtlpAttributes(record.attributes).number("oomwitness.memory.held_share", held_share(*state, model));
  }
  return records;
}

}  // namespace oomw
