// SPDX-License-Identifier: Apache-2.0
// All input of the model, the triggers and the correlator. Kernel records, /proc and cgroupfs readings,
// container names and capture results all arrive as one of these events, live or replayed.
//
// Adding an event touches: its struct here, the variant, decode (if the kernel sends it), the
// record format (events/record.cc) and one test.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "events/capture_terms.h"
#include "events/goroutines_at_kill.h"
#include "events/growth_profile.h"
#include "events/heap_analysed.h"
#include "events/heap_sites.h"
#include "events/ids.h"
#include "events/pools_at_kill.h"
#include "events/trend_judged.h"

namespace oomw {

// --- from the kernel (or its files, with the last backend) -----------------------------------

struct RssSplit {  // bytes; approximate by a batch of pages per CPU on kernels >= 6.2
  std::uint64_t anon_bytes = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t shmem_bytes = 0;
  std::optional<std::uint64_t> pgtables_bytes;  // kmsg gives it too, BPF always
};

// A period in which no daemon is known to have watched.
struct Unwatched {
  MonotonicTime from;
  MonotonicTime until;
};

// The OOM killer marked one victim. One kill decision may mark many (memory.oom.group).
struct OomKill {
  MonotonicTime time;
  ProcessKey victim;
  CgroupId victim_cgroup;
  std::string victim_comm;
  std::optional<std::uint32_t> victim_uid;
  std::optional<std::int32_t> victim_oom_score_adj;
  std::optional<RssSplit> victim_rss;
  std::int32_t trigger_pid = 0;  // thread group that allocated; 0 = not known
  std::string trigger_comm;
  CgroupId trigger_cgroup;
  CgroupId owner_cgroup;     // owner of the limit; none: see owner_known
  bool owner_known = false;  // true with no owner_cgroup = node-wide
  bool owner_exact = false;  // named by the kernel, not derived from its locks and counters
  std::optional<std::uint64_t> owner_usage_bytes;
  std::optional<std::uint64_t> owner_limit_bytes;
  // "bpf" (mark_victim) or "kmsg" (kernel log): two sources may report the same kill; the
  // model keeps the first per victim.
  std::string source;
  // When the OOM killer began to act; the same for every victim of one decision. nullopt: a backend below fentry.
  std::optional<MonotonicTime> decision;
  CgroupId group;                            // topmost with memory.oom.group, killed as a whole; none: no group
  std::optional<std::uint64_t> total_bytes;  // memory and swap that the decision could choose from
  bool is_node_wide_said = false;            // by the kernel, not inferred because no cgroup was at its limit
  // The kernel log reported the kill afterwards; it happened in this period. nullopt: seen as it happened.
  std::optional<Unwatched> unwatched;
};

enum class WatermarkReason { kLevel, kTimeToLimit };
template <>
inline constexpr auto kEnumNames<WatermarkReason> = std::to_array<std::string_view>({"level", "time_to_limit"});

struct WatermarkCrossed {
  MonotonicTime time;
  CgroupId cgroup;       // the one near its limit: maybe an ancestor (pod) of leaf
  CgroupId leaf_cgroup;  // of the crossing task
  WatermarkReason reason = WatermarkReason::kLevel;
  std::uint32_t level_percent = 0;
  std::uint64_t usage_bytes = 0;
  std::uint64_t limit_bytes = 0;
  std::optional<double> growth_bytes_per_second;
  std::optional<Nanoseconds> time_to_limit;
  std::int32_t pid = 0;  // thread group that crossed
};

struct ProcessExec {
  MonotonicTime time;
  ProcessKey process;
  std::uint32_t uid = 0;
  CgroupId cgroup;
  std::string comm;
};

struct ProcessExit {
  MonotonicTime time;
  ProcessKey process;
};

struct CgroupCreated {
  MonotonicTime time;
  CgroupId cgroup;
  CgroupId parent;
  std::string path;  // from the memory hierarchy's root; may be cut (path_complete)
  bool path_complete = true;
  bool existed = false;  // found by the walk at start-up; its earlier events may have been missed
};

struct CgroupRemoved {
  MonotonicTime time;
  CgroupId cgroup;
};

// Totals since the program was loaded; only grow.
struct ReclaimSampled {
  MonotonicTime time;
  CgroupId cgroup;
  std::uint64_t calls = 0;
  std::uint64_t zero_yield_calls = 0;
  std::uint64_t reclaimed_bytes = 0;
  std::uint64_t stall_ns = 0;
};

// Cumulative count of the losses at one stage, a name of LostStage.
struct EventsLost {
  MonotonicTime time;
  std::string stage;
  std::uint64_t total = 0;
};

// --- from /proc and cgroupfs ------------------------------------------------------------------

// One reading of a cgroup's memory files.
struct MemorySampled {
  MonotonicTime time;
  CgroupId cgroup;
  std::uint64_t usage_bytes = 0;
  std::optional<std::uint64_t> limit_bytes;           // none = no limit of its own
  std::optional<std::uint64_t> nonreclaimable_bytes;  // usage - file LRUs - reclaimable slab
  // oom_kill of memory.events.local (v2) or memory.oom_control (v1): victims in this very cgroup.
  std::optional<std::uint64_t> kernel_oom_kills;
  // memory.stat as read (v1: the total_* twins under their v2 names); only when `detailed`.
  bool detailed = false;
  std::map<std::string, std::uint64_t> memory_stat;
  // What is resident of its own processes, by pid: of 64 at most, only where that was asked for, after a kill.
  std::map<std::string, std::uint64_t> resident_bytes;
};

// A Go program's settings in its environment at start. Later changes by the program itself (debug.SetGCPercent
// and SetMemoryLimit) are not seen. Absent: not set, or not readable.
struct GoConfig {
  std::optional<std::int32_t> gogc_percent;         // GOGC; -1 = off
  std::optional<std::uint64_t> memory_limit_bytes;  // GOMEMLIMIT
};

// A process's properties, read while it lives, because all of them are gone at the kill.
struct ProcessSeen {
  MonotonicTime time;
  ProcessKey process;
  CgroupId cgroup;
  std::string comm;
  std::string exe;      // readlink of /proc/PID/exe
  std::string cmdline;  // NULs as spaces, at most 4096 bytes, " ..." where cut
  std::uint32_t uid = 0;
  std::optional<bool> is_init;  // process 1 of its pid namespace, whose end ends all others in it
  std::optional<std::int32_t> oom_score_adj;
  GoConfig go;
};

// --- identity ---------------------------------------------------------------------------------

// The owner of a cgroup. Absent parts are empty strings.
struct ContainerIdentity {
  std::string runtime;  // containerd | cri-o | docker | podman | systemd | lxc | "" (plain)
  std::string id;       // 64 hex, or the name a plain container has
  std::string name;     // Kubernetes container name or runtime's name
  std::string image;
  std::string unit;  // systemd unit, for services
  std::string pod_name;
  std::string pod_namespace;
  std::string pod_uid;                        // dashes as the API writes it; static pods: 32 hex
  std::map<std::string, std::string> labels;  // bounded by the reader
  bool is_sandbox = false;                    // holds a pod's namespaces; from the runtime's own files
  friend bool operator==(const ContainerIdentity&, const ContainerIdentity&) = default;
};

struct ContainerIdentified {
  MonotonicTime time;
  CgroupId cgroup;
  ContainerIdentity identity;
  bool from_bundle = false;  // names read from an OCI bundle; false: from the path alone
};

// --- from the Kubernetes API -------------------------------------------------------------------

// How a run of a container ended, as the kubelet reports it.
struct PodTermination {
  std::string container_id;  // of that run
  std::string reason;        // "OOMKilled", "Error", "Completed", ...
  std::optional<std::int32_t> exit_code;
  std::optional<WallTime> finished;  // truncated to whole seconds
  friend bool operator==(const PodTermination&, const PodTermination&) = default;
};

struct PodContainer {
  std::string name;
  std::string id;  // of the newest run, without "containerd://"; "" before the first
  std::string image;
  std::optional<std::uint32_t> restart_count;  // of the run `id`; nullopt: the pod has no status for it yet
  std::optional<std::uint64_t> memory_limit_bytes;
  bool is_running = false;
  std::optional<PodTermination> last_termination;     // of this run if it ended, else of the one before
  std::optional<PodTermination> earlier_termination;  // of the one before, where last_termination is this run's
};

// A pod of this node as the API describes it; replaces what was known of the same uid. Bounded by the
// reader; is_cut means that containers, labels or annotations are missing.
struct PodSeen {
  MonotonicTime time;
  std::string uid;
  std::string static_uid;  // in a static pod's cgroup names; its mirror in the API has another
  std::string name_space;
  std::string name;
  std::string node;
  std::string owner_kind;  // of the controller: "ReplicaSet"; "" = none
  std::string owner_name;
  std::vector<PodContainer> containers;  // init and ephemeral ones too
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;  // oomwitness.io/ and resource.opentelemetry.io/ only
  bool is_cut = false;
  std::int64_t wall_offset_ns = 0;  // CLOCK_REALTIME - CLOCK_MONOTONIC when it was read
};

struct PodGone {
  MonotonicTime time;
  std::string uid;
};

// true: all pods were reported, and changes keep coming; false: the API cannot be reached.
struct PodsCurrent {
  MonotonicTime time;
  bool is_current = false;
};

// --- from captures ----------------------------------------------------------------------------

// Made only by captures/capture_event.h.
struct CaptureFinished {
  MonotonicTime time;  // when the evidence was taken (response complete)
  MonotonicTime started;
  std::uint64_t capture_id = 0;  // unique in this daemon's life
  CgroupId cgroup;
  ProcessKey process;
  CaptureMethod method = CaptureMethod::kHttp;
  std::optional<RuntimeKind> of;  // nullopt: not known, so no rule that is specific to a runtime may be applied
  CaptureTrigger trigger;
  CaptureResult result = CaptureResult::kFailed;
  CaptureReason reason = CaptureReason::kNone;
  std::string detail;                        // for humans: "http://127.0.0.1:1777/debug/pprof/heap in netns 4026532..."
  std::optional<std::uint64_t> usage_bytes;  // of the limiting cgroup, at the trigger
  std::optional<std::uint64_t> limit_bytes;
  std::optional<std::uint64_t> inuse_bytes;   // held now, or the method's only figure
  std::optional<std::uint64_t> live_bytes;    // live at last GC
  std::optional<std::uint64_t> sample_count;  // buckets or samples
  bool complete = false;
  std::map<std::string, std::uint64_t> memstats;  // by Go's names (captures/memstats_text.h); empty = not known
  std::vector<CollectorComponent> components;     // by facts/; empty: the profile is not of a Collector
  HeapSites sites;                                // by facts/; empty: not of Go
  std::string spool_file;                         // name below <data-dir>/spool, "" when kept in memory or failed
  std::vector<GoroutineTally> goroutines;         // at the kill, most first; empty: not counted
  std::string goroutines_cut;                     // why not all of them were counted; "" = they were
};

// One reading of an OpenTelemetry Collector's own metrics: which component keeps its memory. Under the
// Collector's names, bounded by the reader; absent = not among its metrics.
struct CollectorSampled {
  MonotonicTime time;
  ProcessKey process;
  CgroupId cgroup;
  std::map<std::string, std::uint64_t> queue_sizes;       // sending queues by exporter, in the unit of its sizer
  std::map<std::string, std::uint64_t> queue_capacities;  // by exporter
  std::map<std::string, std::uint64_t> receiver_refused;  // spans, points and records since its start, by receiver
  std::optional<std::uint64_t> limiter_accepted;          // by memory_limiter processors, since its start
  std::optional<std::uint64_t> limiter_refused;
};

// --- from the kernel, of an exiting Go process ------------------------------------------------

enum class WalkStop { kEnd, kFault, kMalformed, kLoop, kPoolFull, kBucketLimit, kTimeLimit };
template <>
inline constexpr auto kEnumNames<WalkStop> =
    std::to_array<std::string_view>({"end", "fault", "malformed", "loop", "pool_full", "bucket_limit", "time_limit"});

// An OOM victim's heap profile was copied out of it. The buckets wait in chunks of the pool until
// HeapWalks::take_chunks() hands them over; an event replayed from a recording has none.
struct HeapWalked {
  MonotonicTime time;  // the walk's end
  MonotonicTime started;
  ProcessKey process;
  CgroupId cgroup;
  WalkStop stop = WalkStop::kEnd;  // kEnd: complete
  std::uint64_t text_address = 0;
  std::uint64_t rate = 0;     // runtime.MemProfileRate, if has_rate
  std::uint64_t walked = 0;   // buckets
  std::uint64_t clipped = 0;  // of those, with a stack deeper than what is kept
  std::uint64_t absent = 0;   // of those, with counts in a page that was not in memory: counted as 0
  std::uint64_t bytes = 0;    // in the chunks
  bool has_rate = false;
  bool has_cycle = false;
  std::uint32_t cycle_before = 0;  // runtime.mProfCycle
  std::uint32_t cycle_after = 0;
  std::uint32_t first_chunk = 0;
  std::uint32_t chunk_count = 0;
  std::vector<std::uint64_t> goroutine_states;  // goroutines by the runtime's status; empty: not counted
  std::vector<std::uint64_t> goroutine_waits;   // of those, the waiting ones by the runtime's number of the reason
  std::uint64_t goroutines = 0;                 // in the runtime's list
  std::uint64_t goroutines_absent = 0;          // of those, in a page that was not in memory: not counted
  WalkStop goroutines_stop = WalkStop::kEnd;    // kBucketLimit: more than are counted
  std::optional<PoolCounts> pools;              // no Go heap, but a Python process: `stop` is of its pools
};

// --- from the store ---------------------------------------------------------------------------

// Files that an incident names but that could not be put beside it: the next revision names them no more.
struct FilesUnplaced {
  struct File {
    std::string name;  // "capture-01-http.pb.gz"
    std::string why;   // for humans, printable
  };
  MonotonicTime time;
  std::string incident;  // its id
  std::vector<File> files;
};

using AnyEvent = std::variant<OomKill, WatermarkCrossed, ProcessExec, ProcessExit, CgroupCreated, CgroupRemoved,
                              ReclaimSampled, EventsLost, MemorySampled, ProcessSeen, ContainerIdentified,
                              CaptureFinished, HeapWalked, CollectorSampled, PodSeen, PodGone, PodsCurrent, TrendJudged,
                              FilesUnplaced, HeapAnalysed, GrowthProfile>;

template <typename T, typename Variant>
inline constexpr bool kIsOneOf = false;
template <typename T, typename... Types>
inline constexpr bool kIsOneOf<T, std::variant<Types...>> = (std::is_same_v<T, Types> || ...);

// A variant whose making, copies, moves and end are compiled in event.cc alone: those of 21 types, in every file that
// holds an event, took a quarter of a whole build.
class Event : public AnyEvent {
 public:
  Event();
  template <typename T>
  requires kIsOneOf<T, AnyEvent> Event(T one);
  Event(const Event& other);
  Event(Event&& other) noexcept;
  Event& operator=(const Event& other);
  Event& operator=(Event&& other) noexcept;
  ~Event();
};

[[nodiscard]] MonotonicTime time_of(const Event& event);

}  // namespace oomw
