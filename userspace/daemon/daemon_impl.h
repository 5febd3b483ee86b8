// SPDX-License-Identifier: Apache-2.0
// Private to daemon*.cc.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyses/contents_runtime.h"
#include "analyses/heap_analyses.h"
#include "base/alarm.h"
#include "base/event_loop.h"
#include "base/memory_budget.h"
#include "base/rate_limit.h"
#include "base/unique_fd.h"
#include "base/worker_pool.h"
#include "captures/capture_scheduler.h"
#include "captures/collector_watch.h"
#include "captures/live_capture.h"
#include "daemon/daemon.h"
#include "daemon/data_dir_lock.h"
#include "daemon/evidence_writer.h"
#include "daemon/half_full.h"
#include "daemon/ledger_pace.h"
#include "daemon/past_reading.h"
#include "daemon/pipeline.h"
#include "daemon/self_protection.h"
#include "daemon/snapshot_publisher.h"
#include "daemon/static_pod_uids.h"
#include "daemon/step_queue.h"
#include "daemon/walk_captures.h"
#include "daemon/watermark_gate.h"
#include "events/lost_stage.h"
#include "events/record.h"
#include "events/share_kind.h"
#include "export/cause_counts.h"
#include "export/metrics_snapshot.h"
#include "export/process_memory.h"
#include "growth/growth_sampler.h"
#include "kubernetes/pod_source.h"
#include "sinks/outbox.h"
#include "sinks/sink_set.h"
#include "system/file_events.h"
#include "system/oomd_watch.h"
#include "trends/heap_trends.h"
#include "web/metrics_server.h"
#include "web/site/web_child.h"

namespace oomw {

inline std::int64_t wall_offset_ns(const Clock& clock) { return clock.wall_now().ns - clock.now().ns; }

// Construction order is dependency order; destruction in reverse stops intake first.
struct Daemon::Impl {
  Config config;
  RunOptions options;
  const RunOptions::PlaceOf place_of = [this](CgroupId cgroup) { return name_place(cgroup); };
  SystemClock clock;
  std::unique_ptr<EventLoop> loop;
  UniqueFd signals;
  std::unique_ptr<Recorder> recorder;
  std::unique_ptr<Spool> spool;
  std::unique_ptr<Pipeline> pipeline;
  StepQueue queue{[this](const Event& event) { step(event); }, [this] { settle(); }};
  std::optional<CgroupFs> cgroups;
  // The bound for all captures at one moment. In addition: the 8 MiB of EvidenceBacklog, the spool's 4 MiB where the
  // disk refuses, and the memory of the daemon without any capture.
  MemoryBudget capture_memory{80u << 20};
  // What is decoded and encoded in this process and no reader's takes turns: a living heap's reading, a trend's
  // readings and profiles.
  MemoryBudget profile_memory{28u << 20};
  std::unique_ptr<reader::Reader> reader;  // of what containers send and hold
  // Of an incident's profiles: no incident waits for the answers of endpoints that are long to read, or for another's
  // walk. Walks and the heaps of living processes have their own, too (walk_captures).
  std::unique_ptr<reader::ReaderGroup> report_readers;  // one for each thread of the writer's
  HalfFull half_full;
  RateLimit warm_ups{1, std::chrono::seconds(1)};
  std::unique_ptr<reader::ReaderGroup> analysis_readers;  // processes of their own: an analysis takes seconds
  std::unique_ptr<HttpCapture> http;
  std::unique_ptr<CollectorWatch> collectors;
  CaptureMetrics capture_metrics;
  CauseCounts causes;
  LostCounts known_lost;
  struct ReportedShare {
    std::uint64_t count = 0;
    RateLimit lines{1, std::chrono::minutes(1)};
  };
  std::map<ShareKind, ReportedShare> reported_shares;
  std::uint64_t saved_ledger_version = 0;
  bool is_ledger_armed = false;
  FreeHeap free_heap;
  LedgerPace ledger_pace;
  // How many containers may be prepared for a capture (by an endpoint look-up) when many near their limits at once. A
  // look-up walks the node's whole connection table, 5 ms of CPU: this allows a twentieth of a CPU. An unprepared
  // container loses those 5 ms at its capture and nothing else, so it is not counted.
  RateLimit prepare_budget{16, std::chrono::milliseconds(100)};
  std::vector<WatermarkCrossed> crossed;  // their cgroups are read once the batch is in
  std::optional<Alarm> correlator_alarm;
  bool is_first_snapshot_ready = false;
  std::string boot_id, node;

  // daemon_handover.cc
  std::optional<DataDirLock> lock;
  std::optional<HeardUntil> earlier;  // of the previous run; none: this is the first
  std::vector<OomKill> held;          // kills kept until the past is read
  MonotonicTime watching_since;       // the programs are in place since then
  MonotonicTime past_begun;           // the cgroups' counts were read by then
  MonotonicTime heard_at;             // every kill until then is counted
  bool is_past_settled = false;
  std::uint64_t lost_past = 0;

  std::unique_ptr<ProcessGauges> process_memory;  // null: nobody asked for it
  std::unique_ptr<SnapshotPublisher> publisher;
  std::unique_ptr<MetricsServer> server;
  std::shared_ptr<std::atomic<bool>> sinks_stopping = std::make_shared<std::atomic<bool>>(false);
  StaticPodUids static_pod_uids;            // the outboxes read it
  std::unique_ptr<SinkHealth> sink_health;  // the next ones note in it
  std::vector<std::unique_ptr<Outbox>> outboxes;
  std::unique_ptr<MemoryEventSink> memory_events;  // null: no receiver of log records, or switched off
  std::unique_ptr<OtlpMetrics> otlp_metrics;       // null: nobody asked for them
  MonotonicTime otlp_metrics_at;                   // the newest report
  std::unique_ptr<WebChild> web;                   // null: switched off
  std::unique_ptr<EvidenceWriter> writer;
  std::unique_ptr<CaptureScheduler> scheduler;
  std::unique_ptr<KernelSource> kernel;
  std::unique_ptr<HeapTrends> trends;           // null: switched off
  std::unique_ptr<WalkCaptures> walk_captures;  // its workers add to the trends
  std::unique_ptr<LiveCapture> live;
  std::unique_ptr<HeapAnalyses> analyses;  // null: switched off
  // What fills programs without heap profiles, over time; null: trends or analyses are switched off.
  std::unique_ptr<ContentsRuntime> contents;
  std::unique_ptr<HeapTrends> contents_trends;
  MonotonicTime next_contents_list;
  std::unique_ptr<Sampler> sampler;
  std::unique_ptr<FileEvents> files;
  std::unique_ptr<OomdWatch> oomd;                // null: cgroup v1, where there is no systemd-oomd
  std::unique_ptr<WatermarkGate> watermark_gate;  // null: no hook that could be detached
  std::unique_ptr<PodSource> pods;                // null: not in a cluster
  // Last, so that they are drained and joined before anything that their tasks use is destroyed.
  std::unique_ptr<WorkerPool> writer_worker;
  std::unique_ptr<WorkerPool> http_workers;
  std::unique_ptr<WorkerPool> live_worker;  // one read at a time is all that memory allows
  std::unique_ptr<WorkerPool> analysis_worker;
  std::unique_ptr<reader::Reader> growth_reader;
  std::unique_ptr<GrowthSampler> growth;  // null: switched off. A thread of its own
  std::vector<WatermarkCrossed> growing;  // of this turn; their processes are sampled once all are known

  // daemon.cc
  Result<> start();
  Result<> watch_signals();
  void start_kernel();
  void start_ring();
  void listen();
  std::size_t drain_ring();
  void start_walk_captures();
  void start_files();
  void start_oomd_watch();
  void start_watermark_gate();
  void start_readers();
  void start_captures();
  void start_analyses();
  void start_growth();
  void keep_growth_file(GrowthProfile& profile, const ShareOwner& owner);
  void start_writer();
  Result<> start_server();
  void start_web();
  void start_timers();
  void flush();
  void drain_to_the_end();
  void tick();

  // daemon_handover.cc
  Result<> open_data_dir();
  Result<bool> take_data_dir(bool is_there);
  [[nodiscard]] bool is_standing_by() const { return pipeline->is_standing_by(); }
  void restore();
  void wait_for_data_dir();
  void begin_past();
  void settle_past_when_ready(const std::shared_ptr<const PastReading>& reading);
  void settle_past(const PastReading& reading);
  void take_past_kills(const PastReading& reading, std::vector<StoredVictim>& victims);
  void name_as_stored(CgroupId victim, const StoredVictim& stored);
  void take_unplaced(std::vector<OomKill> kills);
  void take_known(const OomKill& kill, KillBefore before);
  void take_quietly(const Event& event);
  [[nodiscard]] HeardUntil heard_until() const;

  // daemon_trends.cc
  void start_trends();
  [[nodiscard]] KeepTrendFile keep_trend_file() const;
  void judge_trends(ProcessKey victim, bool is_chosen);
  void start_contents_trends();
  void tick_contents();
  [[nodiscard]] std::vector<ProcessKey> processes_with_contents() const;
  void add_to_contents(const HeapAnalysed& analysed);
  void add_trends(MetricsSnapshot& snapshot) const;
  [[nodiscard]] LeakSuspicions suspicions() const;
  [[nodiscard]] std::optional<ContainerMemory> memory_of(ProcessKey process) const;

  // daemon_sinks.cc
  void start_sinks();
  void start_otlp_metrics(const SinkContext& context);
  void report_memory();
  void note_pod_uid(const Incident& incident);
  void add_sink_stats(MetricsSnapshot& snapshot) const;
  void add_event_counts(std::map<std::string, std::uint64_t>& events) const;

  // daemon_kubernetes.cc
  void start_pods();
  void say_findings();
  void apply_annotations(CaptureOrder& order) const;
  void add_pod_stats(MetricsSnapshot& snapshot) const;

  // daemon_events.cc
  void step(const Event& event);
  [[nodiscard]] std::string name_place(CgroupId cgroup) const;  // RunOptions::PlaceOf
  void after_watermark(const WatermarkCrossed& crossing);
  std::set<CgroupId> read_crossed();
  void after_kill(const ResolvedKill& resolved);
  void read_sharers(const LimitPlace& place);
  void after_sample(const MemorySampled& sample);
  void warm_up_reader();
  void after_exit(const ProcessExit& exit);
  void after_capture(const CaptureFinished& capture);
  void end_turn();
  void settle();
  void arm_growth();
  void dispatch_orders();
  void write_ready_incidents();
  void after_write(const Incident& incident, const StoredAt& at, const UnplacedFiles& unplaced);
  void observe_leads(const Incident& incident);
  void save_ledger_if_changed();
  void save_ledger();
  void collect_losses();
  // daemon_snapshot.cc
  void start_process_memory();
  MetricsSnapshot build_snapshot();
  void add_reader_stats(MetricsSnapshot& snapshot) const;
  void add_kernel_stats(MetricsSnapshot& snapshot) const;
  [[nodiscard]] ShareExcesses share_excesses() const;
  [[nodiscard]] ShareOwner owner_of(CgroupId cgroup) const;
  void report_shares();
};

}  // namespace oomw
