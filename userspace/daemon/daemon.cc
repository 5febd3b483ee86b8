// SPDX-License-Identifier: Apache-2.0
#include "daemon/daemon.h"

#include <sys/epoll.h>
#include <sys/signalfd.h>

#include <csignal>
#include <ctime>
#include <utility>

#include "base/event_loop.h"
#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "base/worker_pool.h"
#include "captures/capture_scheduler.h"
#include "daemon/boot.h"
#include "daemon/evidence_writer.h"
#include "daemon/pipeline.h"
#include "daemon/self_protection.h"
#include "daemon/snapshot_publisher.h"
#include "events/record.h"
#include "export/snapshot_builder.h"
#include "system/file_events.h"
#include "web/metrics_server.h"

namespace oomw {
namespace {

constexpr std::uint64_t kMaxRecordingBytes = 1ull << 30;
constexpr std::size_t kMaxDrain = 8'192;  // records per wake-up, then other fds get a turn
constexpr std::size_t kMaxContainerSeries = 4'096;
constexpr std::size_t kCaptureQueue = 64;
constexpr std::size_t kWriterQueue = 1'024;    // > 2 * EvidenceWriter::kMaxPending, for flush()
constexpr std::size_t kMaxProcessesRead = 64;  // per crossing
constexpr Nanoseconds kTick = std::chrono::seconds(1);
constexpr Nanoseconds kPublish = std::chrono::seconds(5);
constexpr Nanoseconds kRescan = std::chrono::seconds(1);
// A split of memory younger than this describes the kill better than one read after it, when the
// victim's pages may be gone already.
constexpr Nanoseconds kStatFresh = std::chrono::seconds(3);
// Behind the incident in the writer's queue: it is submitted CorrelatorConfig::settle (5 ms) after
// the kill, and its fsyncs go first.
constexpr Nanoseconds kLedgerDelay = std::chrono::milliseconds(7);
constexpr Nanoseconds kRecount = std::chrono::milliseconds(600);  // > KillAccounting::kGrace

std::int64_t wall_offset_ns(const Clock& clock) { return clock.wall_now().ns - clock.now().ns; }

}  // namespace

// Construction order is dependency order; destruction in reverse stops intake first.
struct Daemon::Impl {
  Config config;
  RunOptions options;
  SystemClock clock;
  std::unique_ptr<EventLoop> loop;
  UniqueFd signals;
  std::unique_ptr<Recorder> recorder;
  std::unique_ptr<Spool> spool;
  std::unique_ptr<Pipeline> pipeline;
  std::optional<CgroupFs> cgroups;
  std::unique_ptr<HttpCapture> http;
  CaptureMetrics capture_metrics;
  std::map<std::string, std::uint64_t> known_lost;
  std::uint64_t saved_ledger_version = 0;
  bool is_ledger_armed = false;
  std::optional<MonotonicTime> correlator_armed_for;
  bool is_first_snapshot_ready = false;
  std::string boot_id;

  std::unique_ptr<SnapshotPublisher> publisher;
  std::unique_ptr<MetricsServer> server;
  std::unique_ptr<EvidenceWriter> writer;
  std::unique_ptr<CaptureScheduler> scheduler;
  std::unique_ptr<KernelSource> kernel;
  std::unique_ptr<Sampler> sampler;
  std::unique_ptr<FileEvents> files;
  // Last, so that they are drained and joined before anything their tasks touch goes.
  std::unique_ptr<WorkerPool> writer_worker;
  std::unique_ptr<WorkerPool> capture_workers;

  Result<> start();
  Result<> open_data_dir();
  Result<> watch_signals();
  void start_kernel();
  void start_files();
  void start_captures();
  Result<> start_server();
  void start_timers();

  void handle(const Event& event);
  void after_watermark(const WatermarkCrossed& crossing);
  void after_kill(const OomKill& kill);
  void after_sample(const MemorySampled& sample);
  void after_exit(const ProcessExit& exit);
  void after_capture(const CaptureFinished& capture);
  void settle();
  void dispatch_orders();
  void write_ready_incidents();
  void arm_correlator();
  void observe_leads(const Incident& incident);
  void save_ledger_if_changed();
  void save_ledger();
  void collect_losses();
  void flush();
  MetricsSnapshot build_snapshot();
  void add_kernel_stats(MetricsSnapshot& snapshot) const;
};

Daemon::Daemon() : impl_(std::make_unique<Impl>()) {}
Daemon::~Daemon() {
  // Captures and writes in flight finish first; what they post back is not run any more.
  impl_->capture_workers.reset();
  impl_->writer_worker.reset();
}

Result<std::unique_ptr<Daemon>> Daemon::make(Config config, RunOptions options) {
  std::unique_ptr<Daemon> daemon(new Daemon());
  daemon->impl_->config = std::move(config);
  daemon->impl_->options = std::move(options);
  RETURN_IF_ERROR(daemon->impl_->start());
  return daemon;
}

void Daemon::stop() { impl_->loop->stop(); }

Result<> Daemon::run() {
  impl_->loop->run();
  impl_->flush();
  return {};
}

Result<> Daemon::Impl::start() {
  if (std::string missing = missing_privilege(); !missing.empty()) {
    return fail(ErrorCode::kPermission,
                "oomwitness run " + (missing.starts_with("needs") ? missing : "has a " + missing));
  }
  for (const std::string& refused : protect_self()) log::debug("self protection: {}", refused);
  ASSIGN_OR_RETURN(loop, EventLoop::make());
  RETURN_IF_ERROR(watch_signals());
  if (Result<CgroupFs> probed = CgroupFs::probe(config.cgroup_root); probed.has_value()) {
    cgroups = std::move(*probed);
  } else {
    return tl::make_unexpected(std::move(probed).error().with_context("no memory cgroups to watch"));
  }
  RETURN_IF_ERROR(open_data_dir());
  publisher = std::make_unique<SnapshotPublisher>(*loop, clock, [this] { return build_snapshot(); });
  RETURN_IF_ERROR(start_server());
  start_captures();
  start_kernel();
  sampler = std::make_unique<Sampler>(*loop, *cgroups, clock, config.sampler, [this](const Event& e) { handle(e); });
  start_files();
  sampler->start();
  save_ledger();  // from here on a run that dies hard is known to have been, and since when
  start_timers();
  is_first_snapshot_ready = true;
  publisher->publish();
  return {};
}

Result<> Daemon::Impl::watch_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  if (int err = pthread_sigmask(SIG_BLOCK, &set, nullptr); err != 0) return fail_errno(err, "pthread_sigmask");
  signals = UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.is_valid()) return fail_errno(errno, "signalfd");
  ASSIGN_OR_RETURN([[maybe_unused]] const WatchId id, loop->add_fd(signals.get(), EPOLLIN, [this](std::uint32_t) {
    log::info("stopping");
    loop->stop();
  }));
  return {};
}

// A data dir that cannot be written is no reason not to count kills: evidence waits in memory.
Result<> Daemon::Impl::open_data_dir() {
  if (Result<> made = make_directories(config.data_dir, 0700); !made.has_value()) {
    log::error("data dir: {}; counting on, evidence stays in memory", made.error().message);
  }
  spool = std::make_unique<Spool>(config.data_dir + "/spool", config.spool);
  boot_id = read_boot_id(config.proc_root);
  pipeline = std::make_unique<Pipeline>(config.triggers, config.correlator,
                                        restore_ledger(config.data_dir, boot_id, clock.wall_now()));
  if (!options.record_path.empty()) {
    ASSIGN_OR_RETURN(recorder, Recorder::make(options.record_path, kMaxRecordingBytes, wall_offset_ns(clock)));
  }
  return {};
}

void Daemon::Impl::start_captures() {
  writer_worker = std::make_unique<WorkerPool>("oomw-writer", 1, kWriterQueue);
  capture_workers = std::make_unique<WorkerPool>("oomw-capture", config.capture_workers, kCaptureQueue);
  writer =
      std::make_unique<EvidenceWriter>(*loop, *writer_worker, *spool, clock, config.data_dir, config.retention,
                                       [this](const Incident& incident, const std::string& directory, bool amended) {
                                         if (!amended) observe_leads(incident);
                                         if (options.on_incident) options.on_incident(incident, directory, amended);
                                         publisher->request();
                                       });
  http = std::make_unique<HttpCapture>(config.http, clock);
  scheduler = std::make_unique<CaptureScheduler>(*loop, *capture_workers, *http, *spool, clock, config.http.timeout,
                                                 [this](const CaptureFinished& finished) { handle(finished); });
}

void Daemon::Impl::start_kernel() {
  kernel = KernelSource::make(config.kernel);
  for (const FeatureStatus& feature : kernel->features()) {
    log::info("{}: {}{}", feature.feature, to_string(feature.rung),
              feature.refused.empty() ? "" : " (" + feature.refused.front().reason + ")");
  }
  if (config.run_time_stats) {
    if (Result<> enabled = kernel->enable_run_time_stats(); !enabled.has_value()) {
      log::warn("run-time statistics: {}", enabled.error().message);
    }
  }
  if (kernel->ring_fd() < 0) return;
  const auto drain = [this](std::uint32_t) {
    kernel->drain([this](const Event& event) { handle(event); }, kMaxDrain);
    settle();
  };
  if (Result<WatchId> added = loop->add_fd(kernel->ring_fd(), EPOLLIN, drain); !added.has_value()) {
    log::error("ring buffer: {}", added.error().message);
  }
}

void Daemon::Impl::start_files() {
  FileEventsConfig wanted;
  const std::vector<FeatureStatus> features = kernel->features();
  for (const FeatureStatus& feature : features) {
    if (feature.rung != Rung::kFiles) continue;
    wanted.kills |= feature.feature == "oom_kill";
    wanted.watermarks |= feature.feature == "watermark";
    if (feature.feature == "cgroup_lifecycle") sampler->keep_rescanning(kRescan);
  }
  if (!wanted.kills && !wanted.watermarks) return;
  wanted.levels_percent = config.kernel.levels_percent;
  wanted.rearm_percent = config.kernel.rearm_percent;
  wanted.proc_root = config.proc_root;
  auto made = FileEvents::make(*loop, *cgroups, clock, wanted, [this](const Event& e) {
    handle(e);
    settle();
  });
  if (!made.has_value()) return log::error("files rung: {}", made.error().message);
  files = std::move(*made);
  for (const std::string& problem : files->problems()) log::warn("files rung: {}", problem);
}

Result<> Daemon::Impl::start_server() {
  ASSIGN_OR_RETURN(server, MetricsServer::start(
                               config.metrics_listen, [this] { return publisher->current(); }, clock));
  log::info("metrics on port {}", server->port());
  return {};
}

void Daemon::Impl::start_timers() {
  (void)loop->add_periodic(kTick, [this] {
    pipeline->tick(clock.now());
    collect_losses();
    settle();
  });
  (void)loop->add_periodic(kPublish, [this] { publisher->publish(); });
}

// Every event, whatever its source, passes here once, in order.
void Daemon::Impl::handle(const Event& event) {
  if (recorder) recorder->write(event);
  if (sampler) sampler->on_event(event);
  if (files) files->on_event(event);
  pipeline->apply(event);
  if (options.on_event) options.on_event(event);
  if (const auto* crossing = std::get_if<WatermarkCrossed>(&event)) after_watermark(*crossing);
  if (const auto* kill = std::get_if<OomKill>(&event)) after_kill(*kill);
  if (const auto* sample = std::get_if<MemorySampled>(&event)) after_sample(*sample);
  if (const auto* exit = std::get_if<ProcessExit>(&event)) after_exit(*exit);
  if (const auto* capture = std::get_if<CaptureFinished>(&event)) after_capture(*capture);
  if (const auto* removed = std::get_if<CgroupRemoved>(&event)) kernel->forget(removed->cgroup);
}

void Daemon::Impl::after_watermark(const WatermarkCrossed& crossing) {
  const bool may_capture =
      !config.triggers.capture_percents.empty() && crossing.level_percent >= config.triggers.capture_percents.front();
  if (!sampler) return;
  sampler->read_processes_now(crossing.leaf_cgroup ? crossing.leaf_cgroup : crossing.cgroup, kMaxProcessesRead);
  // An ancestor's limit: what the container itself holds belongs to the evidence too.
  if (crossing.leaf_cgroup != crossing.cgroup) sampler->sample_now(crossing.leaf_cgroup, may_capture);
  sampler->sample_now(crossing.cgroup, may_capture);
  dispatch_orders();
}

void Daemon::Impl::after_kill(const OomKill& kill) {
  publisher->request();
  if (!sampler) return;
  if (pipeline->model().find_process(kill.victim) == nullptr) sampler->read_process_now(kill.victim.pid);
  for (const CgroupId cgroup : {kill.owner_cgroup, kill.victim_cgroup}) {
    const CgroupState* state = pipeline->model().find_cgroup(cgroup);
    if (state == nullptr) continue;
    const bool is_fresh = !state->memory_stat.empty() && kill.time - state->memory_stat_at < kStatFresh;
    sampler->sample_now(cgroup, !is_fresh);
    if (kill.owner_cgroup == kill.victim_cgroup) break;
  }
  // Once more after the grace, so that the kernel's own count is compared while the cgroup lives.
  (void)loop->add_once(kRecount, [this, cgroup = kill.victim_cgroup] {
    sampler->sample_now(cgroup, false);
    settle();
  });
}

void Daemon::Impl::after_sample(const MemorySampled& sample) {
  if (const auto reclaim = kernel->reclaim_of(sample.cgroup, sample.time)) {
    const CgroupState* state = pipeline->model().find_cgroup(sample.cgroup);
    const bool is_news = state != nullptr && (!state->reclaim || state->reclaim->calls != reclaim->calls);
    if (is_news) handle(*reclaim);
  }
}

void Daemon::Impl::after_exit(const ProcessExit& exit) { http->forget(exit.process); }

void Daemon::Impl::after_capture(const CaptureFinished& capture) {
  const auto method = std::string(to_string(capture.method));
  ++capture_metrics.totals[{method, std::string(to_string(capture.result)), capture.reason}];
  if (capture.result == CaptureResult::kOk) {
    capture_metrics.duration_seconds.observe(to_seconds(capture.time - capture.started));
  }
  settle();
}

// What events lead to, once a batch of them is in.
void Daemon::Impl::settle() {
  dispatch_orders();
  write_ready_incidents();
  save_ledger_if_changed();
}

void Daemon::Impl::dispatch_orders() {
  for (const CaptureOrder& order : pipeline->take_orders()) {
    scheduler->on_decision(order.decision, order.crossing, pipeline->model());
  }
}

void Daemon::Impl::write_ready_incidents() {
  for (Incident& incident : pipeline->take_incidents(clock.now(), wall_offset_ns(clock))) {
    writer->write(std::move(incident));
  }
  arm_correlator();
}

void Daemon::Impl::observe_leads(const Incident& incident) {
  for (const IncidentCapture& capture : incident.captures) {
    if (capture.result == "ok") capture_metrics.lead_seconds.observe(capture.lead_seconds);
  }
}

void Daemon::Impl::arm_correlator() {
  const std::optional<MonotonicTime> due = pipeline->next_incident_due();
  if (!due || (correlator_armed_for && *correlator_armed_for <= *due)) return;
  correlator_armed_for = due;
  (void)loop->add_once(std::max(*due - clock.now(), Nanoseconds(0)), [this] {
    correlator_armed_for.reset();
    settle();
  });
}

// A moment later, see kLedgerDelay. Dying in between does not lose the kill: the next run compares
// with the kernel's counts, and only the kill's scope is forgotten.
void Daemon::Impl::save_ledger_if_changed() {
  if (saved_ledger_version == pipeline->ledger_version() || is_ledger_armed) return;
  is_ledger_armed = true;
  publisher->request();
  (void)loop->add_once(kLedgerDelay, [this] {
    is_ledger_armed = false;
    saved_ledger_version = pipeline->ledger_version();
    save_ledger();
  });
}

void Daemon::Impl::save_ledger() { writer->save_ledger({pipeline->ledger(), boot_id, pipeline->accounted()}); }

// At the end nothing that was seen may be lost: incidents that have not settled are written as
// they stand.
void Daemon::Impl::flush() {
  kernel->drain([this](const Event& event) { handle(event); }, kMaxDrain);
  const MonotonicTime settled = clock.now() + config.correlator.settle + config.correlator.amend;
  for (Incident& incident : pipeline->take_incidents(settled, wall_offset_ns(clock)))
    writer->write(std::move(incident));
  save_ledger();
  writer->flush();
}

void Daemon::Impl::collect_losses() {
  std::map<std::string, std::uint64_t> lost = kernel->lost();
  lost.merge(sampler->lost());
  if (files) lost.merge(files->lost());
  lost["crossings"] = pipeline->dropped_crossings();
  lost["incidents"] = writer->stats().incidents_dropped;
  lost["spool"] = spool->dropped();
  lost["log"] = log::dropped_messages();
  if (recorder) lost["recording"] = recorder->dropped();
  for (const auto& [stage, total] : lost) {
    if (std::exchange(known_lost[stage], total) != total) handle(EventsLost{clock.now(), stage, total});
  }
}

MetricsSnapshot Daemon::Impl::build_snapshot() {
  MetricsSnapshot snapshot;
  snapshot.built = snapshot.core_tick = clock.now();
  snapshot.ready = is_first_snapshot_ready;
  add_model(pipeline->model(), kMaxContainerSeries, snapshot);
  snapshot.kills = pipeline->ledger().counts();
  snapshot.captures = capture_metrics;
  snapshot.kernel_oom_kills_unobserved = pipeline->unobserved_kills();
  if (kernel) add_kernel_stats(snapshot);
  if (writer) {
    snapshot.incidents_written = writer->stats().incidents_written;
    snapshot.incident_write_errors = writer->stats().write_errors;
    snapshot.incident_write_seconds_last = writer->stats().last_write_seconds;
    snapshot.data_dir_writable = writer->stats().is_data_dir_writable;
  }
  const SelfUsage usage = self_usage();
  snapshot.process_cpu_seconds = usage.cpu_seconds;
  snapshot.process_resident_bytes = usage.resident_bytes;
  return snapshot;
}

void Daemon::Impl::add_kernel_stats(MetricsSnapshot& snapshot) const {
  for (const FeatureStatus& feature : kernel->features()) {
    snapshot.feature_rung[feature.feature] = to_string(feature.rung);
  }
  if (!config.run_time_stats) return;  // the kernel's counters stand still then: no series, not a 0
  for (const ProgramStats& program : kernel->program_stats()) {
    snapshot.program_runs[program.program] = program.runs;
    snapshot.program_run_seconds[program.program] = static_cast<double>(program.run_ns) / 1e9;
  }
}

}  // namespace oomw
