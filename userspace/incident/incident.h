// SPDX-License-Identifier: Apache-2.0
// incident.json, schema_version 1, as a struct. Unknown = nullopt / empty plus a line in notes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "events/event.h"
#include "incident/collector.h"
#include "incident/incident_analysis.h"
#include "incident/incident_answer.h"
#include "incident/incident_growth.h"
#include "incident/incident_trend.h"
#include "incident/incident_verdict.h"
#include "model/workload.h"

namespace oomw {

struct IncidentVictim {
  ProcessKey process;
  std::optional<WallTime> started;
  std::string comm, exe, cmdline;
  std::optional<std::uint32_t> uid;
  std::optional<bool> is_init;  // process 1 of its pid namespace: the container ended with it
  std::optional<std::int32_t> oom_score_adj;
  std::optional<RssSplit> rss;
  std::string cgroup_path;  // the one it ran in; "" = not known
  GoConfig go;
};

struct IncidentCapture {
  std::string file;        // capture-NN-<method>.pb.gz in the incident's directory; "" = none, or it was lost
  std::string spool_file;  // where the bytes are until then; not part of the JSON
  std::string method, trigger, result, reason, detail;
  std::string of;  // "go"; "" = not known: then no rule that is specific to a runtime applies
  std::int32_t pid = 0;
  WallTime time;
  std::optional<std::uint64_t> usage_bytes, limit_bytes, inuse_bytes, live_bytes, buckets;
  bool complete = false;
  std::map<std::string, std::uint64_t> memstats;  // bytes by Go's names; empty = the endpoint gave none
  double duration_seconds = 0;
  double lead_seconds = 0;                 // capture complete -> first victim marked; negative = after
  std::vector<GoroutineTally> goroutines;  // at the kill, most first; empty = not counted
  std::string goroutines_cut;              // why not all of them were counted; "" = they were
};

struct IncidentWatermark {
  WallTime time;
  std::string reason;
  std::uint32_t level_percent = 0;
  std::uint64_t usage_bytes = 0;
  double lead_seconds = 0;
};

// The pod and the container as the Kubernetes API reported them, before the kill if possible.
struct IncidentPod {
  std::string node, owner_kind, owner_name;
  Workload workload;                                       // that the owner belongs to; kind "" = none, or not known
  std::optional<std::uint32_t> restart_count;              // of the run that was killed
  std::optional<PodTermination> last_termination;          // of an earlier run
  std::optional<std::uint64_t> memory_limit_bytes;         // from the pod's spec, the same in each run
  std::map<std::string, std::string> resource_attributes;  // by its annotations resource.opentelemetry.io/NAME; hostile
  // Where the pod's status contradicts the kernel (StatusFinding).
  std::string disagreement_kind, disagreement;
};

// The process with the most resident memory, read right after the kill.
struct OtherProcess {
  std::int32_t pid = 0;
  std::string comm, cmdline;  // hostile; the first 256 bytes of it
  std::uint64_t resident_bytes = 0;
};

// The other processes in the container at the kill, as far as they were seen.
struct OtherProcesses {
  std::size_t count = 0;
  std::int32_t lowest_oom_score_adj = 0;  // of them
  std::optional<OtherProcess> largest;    // nullopt: of none it was read
};

// One container's share of its pod's limit.
struct LimitShare {
  std::string container;
  std::optional<std::uint64_t> usage_bytes;
  std::optional<std::uint64_t> limit_bytes;  // its own; nullopt: it has none, or it was not read
};

// Kills of the same container that came too fast to have an incident each (RepeatConfig).
struct RepeatedKills {
  std::uint64_t count = 0;
  WallTime first, last;
};

// Never changed once it is built (correlate/incident_builder.h): later evidence makes a new revision under the same id.
struct Incident {
  static constexpr int kSchemaVersion = 1;
  std::string id;     // "20261121T030405Z-1a2b3c4d": UTC second of the kill and 8 hex
  WallTime time;      // first victim marked
  std::string scope;  // container | pod | ancestor | node; "" = not known
  CgroupId cgroup;
  std::string cgroup_path;
  // The container, with its pod, of the first victim, which the kernel chose. A group kill may end other
  // containers too.
  ContainerIdentity container;
  std::optional<IncidentPod> pod;  // nullopt: the API reported none, or it is not a pod
  std::vector<IncidentVictim> victims;
  std::size_t victim_count = 0;          // listed above or not
  std::optional<OtherProcesses> others;  // nullopt: none was seen
  std::size_t merged_decisions = 0;      // other OOM decisions that this incident stands for; 0 except in a flood
  std::optional<RepeatedKills> repeats;  // nullopt: none, as nearly always
  CgroupId oom_group;                    // killed as a whole (memory.oom.group); none = single processes were killed
  std::string oom_group_cgroup_path;     // its path; "" = none, or not known
  std::optional<std::int32_t> trigger_pid;
  std::string trigger_comm;
  std::optional<bool> trigger_same_cgroup;
  std::optional<std::uint64_t> limit_bytes;
  std::string limit_owner_cgroup_path;       // "" = not known or node
  std::vector<LimitShare> limit_shares;      // scope pod only; the victim's container first
  std::optional<std::uint64_t> total_bytes;  // memory and swap that the OOM killer could choose from
  std::optional<std::uint64_t> usage_bytes;
  std::map<std::string, std::uint64_t> memory_stat;
  std::optional<ReclaimSampled> reclaim;  // totals up to the kill
  std::vector<IncidentWatermark> watermarks;
  struct Point {
    WallTime time;
    std::uint64_t usage_bytes = 0;
    std::optional<std::uint64_t> nonreclaimable_bytes;
  };
  std::vector<Point> series;
  std::vector<IncidentCapture> captures;
  std::optional<double> coverage_ratio;
  std::string coverage_method;
  std::optional<IncidentTrend> trend;           // nullopt: no Go heap was read often enough
  std::optional<IncidentTrend> contents_trend;  // likewise, what fills the victim; its frames are names
  std::optional<IncidentVerdict> verdict;
  std::optional<IncidentAnswer> answer;            // nullopt: written before there were answers
  std::optional<EarlierKill> earlier;              // nullopt: no other kill of its workload is known
  std::vector<IncidentFiller> fillers;             // of the best profile, then of analyses; most bytes first
  std::vector<IncidentOperation> operations;       // likewise
  std::vector<IncidentAnalysis> analyses;          // of the victim that the kernel chose, oldest first
  std::vector<IncidentHolder> holders;             // of the newest analysis, largest first
  std::vector<GoroutineStack> goroutines;          // likewise, most first
  std::optional<std::uint64_t> goroutine_count;    // listed or not; nullopt: not counted
  std::optional<IncidentComposition> composition;  // nullopt: no analysis told
  std::optional<IncidentGrowth> growth;            // nullopt: the process's growth was not sampled
  std::optional<IncidentCollector> collector;      // nullopt: the victim is not an OpenTelemetry Collector
  std::map<std::string, std::uint64_t> lost;       // by stage, cumulative at the kill
  std::vector<std::string> notes;
};

// Indented, valid UTF-8. Every null gets a line in notes: the incident's own, else a generic one.
[[nodiscard]] std::string to_json(const Incident& incident);
// Unknown keys are ignored; a wrong type is kInvalid and names the field. A capture's file name that would
// lead out of the incident's directory is refused, so callers may join it to a path.
[[nodiscard]] Result<Incident> incident_from_json(std::string_view text);
// <UTC>-<namespace|unit>-<pod|cgroup>-<container>-<short id>, safe as a file name, <= 200 bytes.
[[nodiscard]] std::string directory_name(const Incident& incident);
// The profiles as text that is already printable.
struct ProfileTexts {
  std::map<std::string, std::string> tops;  // file -> `oomwitness top` of that capture
  std::string growth;                       // growth-diff.txt; "" = nothing to compare
};
// For a human.
[[nodiscard]] std::string to_markdown(const Incident& incident, const ProfileTexts& profiles);

// Whether a name stays within an incident's directory. "" does.
[[nodiscard]] bool is_plain_file_name(const std::string& name);

// The most informative capture that is ok: of a victim, whole before partial, by the best method (at_kill,
// live, http), newest. nullptr if none is ok.
[[nodiscard]] const IncidentCapture* best_capture(const Incident& incident);
// The same among the captures of one process.
[[nodiscard]] const IncidentCapture* best_capture_of(const Incident& incident, std::int32_t pid);
// The capture at the kill of the victim that the kernel chose whose goroutines were counted; nullptr: none.
[[nodiscard]] const IncidentCapture* goroutines_at_kill(const Incident& incident);
// What the objects of that victim's Python pools were at its kill; nullptr: not counted.
[[nodiscard]] const PoolsAtKill* pools_at_kill(const Incident& incident);
// The profile to compare `later` with: the first one of the same process before it, preferably of the same
// series (held now, or live at the last collection). nullptr: there is no earlier one.
[[nodiscard]] const IncidentCapture* first_before(const Incident& incident, const IncidentCapture& later);
// A whole or partial profile of a Go heap.
[[nodiscard]] bool is_of_go(const IncidentCapture& capture);
// Whether the profile lags behind: it shows what was live up to two garbage collections before.
[[nodiscard]] bool shows_last_collection(const IncidentCapture& capture);
// A figure of memory.stat by the kernel's name; nullopt: it was not read.
[[nodiscard]] std::optional<std::uint64_t> stat_of(const Incident& incident, const std::string& name);
// In-use bytes of a capture divided by the anonymous memory of its victim; nullopt if it is not of a victim,
// or one of the two is not known.
[[nodiscard]] std::optional<double> coverage_of(const Incident& incident, const IncidentCapture& capture);
// The same for all victims: in-use bytes of each one's best capture, divided by the memory of all.
[[nodiscard]] std::optional<double> coverage_of_victims(const Incident& incident);
// Sum over the victims whose memory is known; nullopt if none is.
[[nodiscard]] std::optional<std::uint64_t> victims_anon_bytes(const Incident& incident);

}  // namespace oomw
