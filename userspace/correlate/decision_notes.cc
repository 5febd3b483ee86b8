// SPDX-License-Identifier: Apache-2.0
#include "correlate/decision_notes.h"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "base/text.h"

namespace oomw {

namespace {

// An older change has nothing to do with the kill.
constexpr Nanoseconds kChangeMatters = std::chrono::minutes(10);
constexpr std::size_t kMaxNamed = 4;

CgroupId container_of_victim(const OomKill& kill, const MemoryModel& model) {
  const CgroupId cgroup = model.cgroup_of(kill);
  const CgroupState* container = model.container_of(cgroup);
  return container != nullptr ? container->id : cgroup;
}

std::string named(const std::set<CgroupId>& cgroups, const MemoryModel& model) {
  std::string text;
  std::size_t count = 0;
  for (const CgroupId id : cgroups) {
    if (++count > kMaxNamed) return text + fmt::format(" and {} more", cgroups.size() - kMaxNamed);
    const CgroupState* state = model.find_cgroup(id);
    if (!text.empty()) text += ", ";
    text += state != nullptr && !state->path.empty() ? printable(state->path) : fmt::format("cgroup {}", id.value);
  }
  return text;
}

std::string elsewhere_note(const KillEvidence& evidence, const MemoryModel& model) {
  std::set<CgroupId> others;
  std::size_t victims = 0;
  for (const OomKill& kill : evidence.kills) {
    const CgroupId container = container_of_victim(kill, model);
    if (!container || !evidence.container || container == evidence.container) continue;
    ++victims;
    others.insert(container);
  }
  if (victims == 0) return "";
  return fmt::format("victims: {} lived outside of the first one's container: in {}", victims, named(others, model));
}

// "pid 12 (app), pid 34 (db)"
std::string listed(const std::vector<OomKill>& kills) {
  std::string text;
  for (const OomKill& kill : kills) {
    text += fmt::format("{}pid {} ({})", text.empty() ? "" : ", ", kill.victim.pid, printable(kill.victim_comm));
  }
  return text;
}

// "2026-11-21T03:04:05Z"
std::string second_of(MonotonicTime time, const KillEvidence& evidence) {
  return to_rfc3339({time.ns + evidence.wall_offset_ns.value_or(0)}).substr(0, 19) + "Z";
}

std::string unwatched_note(const KillEvidence& evidence) {
  const Unwatched& time = *evidence.unwatched;
  const std::string from = time.from.ns > 0 ? second_of(time.from, evidence) : "the start of the node";
  return fmt::format(
      "time: {}; seen afterwards, because no daemon is known to have watched from {} to {}",
      evidence.kills.empty() ? "when the kernel's count of kills in this cgroup was read" : "as the kernel log has it",
      from, second_of(time.until, evidence));
}

std::vector<std::string> counted_notes(const KillEvidence& evidence) {
  const UnobservedKills& counted = *evidence.counted;
  std::string when = "time: when the kernel's count of kills in this cgroup was seen to have risen";
  if (counted.after) {
    when += fmt::format("; {:.3f} s before it had not", to_seconds(counted.until - *counted.after));
  }
  std::vector<std::string> notes;
  if (!evidence.unwatched) notes.push_back(std::move(when));
  if (evidence.unnamed != 0) {
    notes.push_back(
        fmt::format("victims: {} of those that the kernel counted here were named by nobody", evidence.unnamed));
  }
  if (!evidence.unplaced.empty()) {
    notes.push_back("victims: the kernel log names, at that time and without a cgroup, " + listed(evidence.unplaced) +
                    "; which of them it was is not known");
  }
  return notes;
}

std::string limit_text(const std::optional<std::uint64_t>& bytes) { return bytes ? human_bytes(*bytes) : "no limit"; }

std::string owner_note(const KillEvidence& evidence) {
  const OomKill& chosen = evidence.chosen();
  if (evidence.kills.empty() && !evidence.owner) return "scope: only a count tells of the kill, not whose limit it was";
  if (!chosen.owner_known) {
    return evidence.owner ? "limit.owner_cgroup_path: the kernel did not name it; this is the limit that was nearest "
                            "to full"
                          : "scope: the kernel did not name the limit and none is known above the victim";
  }
  if (chosen.owner_exact) return "";
  if (evidence.owner) {
    return "limit.owner_cgroup_path: resolved from the memory counters at the kill, not named by the kernel";
  }
  if (chosen.is_node_wide_said) return "";
  return "scope: no cgroup at its limit was found, so the node is taken to have run out; the kernel did not say so";
}

// Explains the figures where the limit is above the container.
std::vector<std::string> place_notes(const KillEvidence& evidence) {
  if (evidence.is_pods_of_one()) {
    return {
        "scope: the limit that was hit is the pod's, limit.owner_cgroup_path; it equals that of its only "
        "container, as a kubelet sets it, and counts as the container's"};
  }
  const bool is_pods = evidence.scope == "pod";
  if (!is_pods && evidence.scope != "ancestor") return {};
  const std::string whose = is_pods ? "is its pod's" : "belongs to a cgroup above it";
  std::vector<std::string> notes{"series.usage_bytes: the container's own; the limit that was hit " + whose};
  if (is_pods)
    notes.emplace_back(
        "limit_shares.usage_bytes: each container's last reading up to the kill, or within 1 s after it");
  return notes;
}

}  // namespace

std::vector<std::string> victim_notes(const KillEvidence& evidence, const MemoryModel& model) {
  std::vector<std::string> notes;
  const bool is_merged = evidence.merged_decisions != 0;
  const OomKill& chosen = evidence.chosen();
  if (evidence.counted) notes = counted_notes(evidence);
  if (evidence.unwatched) notes.insert(notes.begin(), unwatched_note(evidence));
  if (is_merged) {
    notes.push_back(fmt::format(
        "merged_decisions: {} further OOM decisions about this limit and container are counted here: they came faster "
        "than incidents of their own are kept apart",
        evidence.merged_decisions));
  }
  if (evidence.victims_not_listed != 0) {
    notes.push_back(fmt::format("victims: {} more were killed{} and are not listed", evidence.victims_not_listed,
                                is_merged ? "" : " by the same decision"));
  }
  if (evidence.kills.size() == 1 && chosen.source == "kmsg" && chosen.victim.start_ticks == 0) {
    notes.push_back("victims.pid: as the kernel log names it, which may be a thread of a process that was gone");
  }
  if (std::string note = elsewhere_note(evidence, model); !note.empty()) notes.push_back(std::move(note));
  return notes;
}

std::vector<std::string> limit_notes(const KillEvidence& evidence, const MemoryModel& model) {
  std::vector<std::string> notes;
  if (std::string note = owner_note(evidence); !note.empty()) notes.push_back(std::move(note));
  const CgroupState* group = model.find_cgroup(evidence.group);
  if (evidence.group && (group == nullptr || group->path.empty())) {
    notes.push_back(fmt::format("oom_group_cgroup_path: killed as a group, of cgroup {}, whose path is not known",
                                evidence.group.value));
  }
  const auto& change = evidence.limit_change;
  if (change && evidence.first - change->seen_at < kChangeMatters) {
    notes.push_back(fmt::format("limit.bytes: changed at run time from {} to {}; seen {:.3f} s before the kill",
                                limit_text(change->from), limit_text(change->to),
                                to_seconds(evidence.first - change->seen_at)));
  }
  std::ranges::move(place_notes(evidence), std::back_inserter(notes));
  return notes;
}

}  // namespace oomw
