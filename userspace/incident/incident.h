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
#include "incident/incident_trend.h"
#include "incident/incident_verdict.h"
#include "model/workload.h"

namespace oomw {

struct IncidentVictim {
  ProcessKey process;
  std::optional<WallTime> started;
  std::string comm, exe, cmdline;
  std::optional<std::uint32_t> uid;
  std::optional<std::int32_t> oom_score_adj;
  std::optional<RssSplit> rss;
  std::string cgroup_path;  // where it lived; "" = not known
  GoConfig go;
};

struct IncidentCapture {
  std::string file;        // capture-NN-<method>.pb.gz in the incident's directory; "" if none
  std::string spool_file;  // where the bytes are until then; not part of the JSON
  std::string method, trigger, result, reason, detail;
  std::string of;  // "go"; "" = not known: nothing that holds for one runtime alone follows from it
  std::int32_t pid = 0;
  WallTime time;
  std::optional<std::uint64_t> usage_bytes, limit_bytes, inuse_bytes, live_bytes, buckets;
  bool complete = false;
  std::map<std::string, std::uint64_t> memstats;  // by Go's names, bytes; empty = the endpoint told none
  double duration_seconds = 0;
  double lead_seconds = 0;  // capture complete -> first victim marked; negative = after
};

struct IncidentWatermark {
  WallTime time;
  std::string reason;
  std::uint32_t level_percent = 0;
  std::uint64_t usage_bytes = 0;
  double lead_seconds = 0;
};

// What the Kubernetes API told of the pod and the container, before the kill where it could.
struct IncidentPod {
  std::string node, owner_kind, owner_name;
  Workload workload;                               // behind the owner; kind "" = none, or not known
  std::optional<std::uint32_t> restart_count;      // of the run that was killed
  std::optional<PodTermination> last_termination;  // of an earlier run
  std::optional<std::uint64_t> memory_limit_bytes;
  // Where its status says otherwise than the kernel (StatusFinding).
  std::string disagreement_kind, disagreement;
};

// Who else was in the container at the kill, as far as they were seen.
struct OtherProcesses {
  std::size_t count = 0;
  std::int32_t lowest_oom_score_adj = 0;  // of them
};

// One container's part of a limit that is its pod's.
struct LimitShare {
  std::string container;
  std::optional<std::uint64_t> usage_bytes;
  std::optional<std::uint64_t> limit_bytes;  // its own; none: it has none, or it was not read
};

struct Incident {
  static constexpr int kSchemaVersion = 1;
  std::string id;     // "20261121T030405Z-1a2b3c4d": UTC second of the kill and 8 hex
  WallTime time;      // first victim marked
  std::string scope;  // container | pod | ancestor | node; "" = not known
  CgroupId cgroup;
  std::string cgroup_path;
  // Pod parts included. Of the first victim, the one that the kernel chose: a group kill may end other
  // containers too.
  ContainerIdentity container;
  std::optional<IncidentPod> pod;  // none: the API did not tell, or it is no pod
  std::vector<IncidentVictim> victims;
  std::size_t victim_count = 0;          // listed above or not
  std::optional<OtherProcesses> others;  // none: nobody was seen
  std::size_t merged_decisions = 0;      // other OOM decisions that this incident stands for; 0 but in a flood
  CgroupId oom_group;                    // killed whole (memory.oom.group); none = each victim for itself
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
  std::optional<IncidentTrend> trend;  // none: no Go heap that was read often enough
  std::optional<IncidentVerdict> verdict;
  std::optional<IncidentCollector> collector;  // none: the victim is no OpenTelemetry Collector
  std::map<std::string, std::uint64_t> lost;   // by stage, cumulative at the kill
  std::vector<std::string> notes;
};

// Pretty, valid UTF-8. Every null gets its line in notes: the incident's own, else a plain one.
[[nodiscard]] std::string to_json(const Incident& incident);
// Unknown keys are ignored, a wrong type is kInvalid with where. A capture's file name that would
// lead out of the incident's directory is refused, so that callers may join it to a path.
[[nodiscard]] Result<Incident> incident_from_json(std::string_view text);
// <UTC>-<namespace|unit>-<pod|cgroup>-<container>-<short id>, safe as a file name, <= 200 bytes.
[[nodiscard]] std::string directory_name(const Incident& incident);
// What the profiles say, as text that is printable already.
struct ProfileTexts {
  std::map<std::string, std::string> tops;  // file -> `oomwitness top` of that capture
  std::string growth;                       // growth-diff.txt; "" = nothing to compare
};
// For a human.
[[nodiscard]] std::string to_markdown(const Incident& incident, const ProfileTexts& profiles);

// Of a file in an incident's directory: leads nowhere else. "" is one.
[[nodiscard]] bool is_plain_file_name(const std::string& name);

// The capture that says most: ok, of a victim, whole before partial, by the best method (at_kill,
// live, http), newest. nullptr if none is ok.
[[nodiscard]] const IncidentCapture* best_capture(const Incident& incident);
// The same among the captures of one process.
[[nodiscard]] const IncidentCapture* best_capture_of(const Incident& incident, std::int32_t pid);
// What to compare `later` with: the first profile of the same process before it, of the same series (held
// now, or live at the last collection) where there is one. nullptr: there is no other.
[[nodiscard]] const IncidentCapture* first_before(const Incident& incident, const IncidentCapture& later);
// A whole or partial profile of a Go heap.
[[nodiscard]] bool is_of_go(const IncidentCapture& capture);
// It lags behind: what it shows was live up to two garbage collections before.
[[nodiscard]] bool shows_last_collection(const IncidentCapture& capture);
// A figure of memory.stat by the kernel's name; nullopt: it was not among those read.
[[nodiscard]] std::optional<std::uint64_t> stat_of(const Incident& incident, const std::string& name);
// In-use bytes of a capture over the anonymous memory of the victim it shows; nullopt if it is not
// of a victim, or one of the two is not known.
[[nodiscard]] std::optional<double> coverage_of(const Incident& incident, const IncidentCapture& capture);
// The same over all victims: in-use bytes of each one's best capture, over the memory of all.
[[nodiscard]] std::optional<double> coverage_of_victims(const Incident& incident);
// Sum over the victims whose memory is known; nullopt if none is.
[[nodiscard]] std::optional<std::uint64_t> victims_anon_bytes(const Incident& incident);

}  // namespace oomw
