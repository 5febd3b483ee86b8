// SPDX-License-Identifier: Apache-2.0
// The order in which the parts are made, and how they end.
#include "daemon/daemon.h"

#include <sys/epoll.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/log.h"
#include "base/patience.h"
#include "base/text.h"
#include "base/victim_marks.h"
#include "daemon/daemon_impl.h"
#include "daemon/host_cgroup_view.h"
#include "daemon/self_protection.h"
#include "facts/growth_pprof.h"
#include "pprof/codec.h"
#include "report/profile_texts.h"
#include "web/site/live_json.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxDrain = 1'024;  // records per wake-up (0.1 s at worst), then other fds get a turn
constexpr std::size_t kCaptureQueue = 64;
constexpr std::size_t kWriterThreads = 2;  // for first writes and for amendments
// For the texts of an incident's profiles. The next kill's first write waits for one, not for the other.
constexpr Nanoseconds kFirstTexts = std::chrono::milliseconds(500), kTexts = std::chrono::seconds(2);
constexpr std::size_t kWriterQueue = 16;  // two incidents, a ledger, a pruning; more while a disk hangs
constexpr unsigned kLiveSpares = 4;       // for reads that hang in another process's page fault or file system
constexpr Nanoseconds kTick = std::chrono::seconds(1);
constexpr Nanoseconds kPublish = std::chrono::seconds(5);
constexpr Nanoseconds kTrimCheck = std::chrono::seconds(5);
constexpr Nanoseconds kRescan = std::chrono::seconds(1);

}  // namespace

Daemon::Daemon() : impl_(std::make_unique<Impl>()) {}
Daemon::~Daemon() {
  // Captures and writes in flight finish first. What they post back is no longer run, so what has not begun need not
  // begin: 64 captures that wait for an endpoint that hangs would take minutes.
  *impl_->sinks_stopping = true;
  if (impl_->http_workers) impl_->http_workers->close();
  if (impl_->live_worker) impl_->live_worker->close();
  if (impl_->analysis_worker) impl_->analysis_worker->close();
  if (impl_->walk_captures) impl_->walk_captures->close();
  impl_->web.reset();
  impl_->pods.reset();
  bool hangs = false;
  for (WorkerPool* pool : {impl_->http_workers.get(), impl_->live_worker.get(), impl_->analysis_worker.get()}) {
    if (pool != nullptr && !pool->finish()) hangs = true;
  }
  for (HeapTrends* trends : {impl_->trends.get(), impl_->contents_trends.get()}) {
    if (trends != nullptr && !trends->stop_reading()) hangs = true;
  }
  if (impl_->walk_captures && !impl_->walk_captures->finish()) hangs = true;
  impl_->writer_worker.reset();
  impl_->outboxes.clear();
  if (impl_->lock) impl_->lock->release();  // all is on disk: a daemon on standby may go on
  // A thread that hangs in a file that does not answer goes on with what it borrowed, should it return before the end.
  if (hangs) (void)impl_.release();
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
  keep_heap_small();
  if (Result<> seen = see_cgroups_as_the_node(config.proc_root); !seen.has_value()) {
    log::warn("paths of cgroups may not be those of the node: {}", seen.error().message);
  }
  for (const std::string& refused : protect_self()) log::debug("self protection: {}", refused);
  config.watermark_gate.max_watched = std::min(config.watermark_gate.max_watched, allow_open_files() / 4);
  ASSIGN_OR_RETURN(loop, EventLoop::make());
  loop->set_after_each([this] { end_turn(); });
  correlator_alarm.emplace(*loop, clock, [] {});  // settling follows every task of the loop
  RETURN_IF_ERROR(watch_signals());
  if (Result<CgroupFs> probed = CgroupFs::probe(config.cgroup_root); probed.has_value()) {
    cgroups = std::move(*probed);
    config.correlator.has_groups = cgroups->version() == CgroupVersion::kV2;
  } else {
    return tl::make_unexpected(std::move(probed).error().with_context("no memory cgroups to watch"));
  }
  RETURN_IF_ERROR(open_data_dir());
  node = node_name(config.kubernetes, process_environment());
  if (node.empty()) node = host_name();
  publisher = std::make_unique<SnapshotPublisher>(*loop, clock, [this] { return build_snapshot(); });
  start_process_memory();
  RETURN_IF_ERROR(start_server());
  start_web();
  start_kernel();
  start_readers();
  start_walk_captures();
  start_trends();
  start_captures();
  start_analyses();
  start_contents_trends();
  start_growth();
  start_ring();
  sampler =
      std::make_unique<Sampler>(*loop, *cgroups, clock, config.sampler, [this](Event e) { queue.push(std::move(e)); });
  start_files();
  start_oomd_watch();
  start_watermark_gate();
  watching_since = clock.now();
  sampler->start();
  queue.run();
  start_pods();
  start_timers();
  if (is_standing_by()) {
    wait_for_data_dir();
  } else {
    begin_past();
  }
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

void Daemon::Impl::start_readers() {
  const reader::ReaderConfig reader_config{.idle = config.reader_idle};
  reader = std::make_unique<reader::Reader>(clock, reader_config);
  report_readers = std::make_unique<reader::ReaderGroup>(clock, reader_config, kWriterThreads);
}

void Daemon::Impl::start_captures() {
  writer_worker = std::make_unique<WorkerPool>("oomw-writer", kWriterThreads, kWriterQueue);
  http_workers = std::make_unique<WorkerPool>("oomw-http", config.capture_workers, kCaptureQueue);
  live_worker = std::make_unique<WorkerPool>("oomw-live", 1, kCaptureQueue, kLiveSpares);
  if (!is_standing_by()) start_writer();
  http = std::make_unique<HttpCapture>(config.http, clock, &capture_memory, reader.get());
  // A core thread that is behind drops the reading: the next watermark brings another.
  const auto deliver = [this](auto reading) {
    return loop->post([this, reading = std::move(reading)] { queue.push(reading); });
  };
  const auto is_collector = [this](ProcessKey process) {
    const GoProcessPtr known = walk_captures->registry().find(process);
    return known && known->binary->is_collector;
  };
  collectors = std::make_unique<CollectorWatch>(*http, *http_workers, config.collector, clock, deliver, &capture_memory,
                                                is_collector);
  const auto store = [this](ReadingToStore stored, const RuntimeProcess& process) {
    return walk_captures->store_living(std::move(stored), process);
  };
  live = std::make_unique<LiveCapture>(walk_captures->registry(), clock, store, &profile_memory,
                                       trends ? trends->watcher(ReadingOrigin::kWatermark) : ReadingWatcher());
  const std::vector<CaptureLane> lanes = {
      {CaptureMethod::kLive, live.get(), live_worker.get(), config.live_timeout},
      {CaptureMethod::kHttp, collectors.get(), http_workers.get(), config.http.timeout, config.capture_workers}};
  scheduler = std::make_unique<CaptureScheduler>(
      *loop, lanes, *spool, clock, [this](CaptureFinished finished) { queue.push(std::move(finished)); },
      config.kubernetes.capture_opt_in);
}

// A reader that an analysis has filled with the graph of a heap is not kept waiting.
void Daemon::Impl::start_analyses() {
  if (!config.is_analysing) return;
  constexpr std::size_t kQueue = 4;  // the fair queue in front of it posts as many as there are threads
  analysis_worker = std::make_unique<WorkerPool>("oomw-analysis", HeapAnalyses::kAtOnce, kQueue, 1);
  const reader::ReaderConfig apart{.idle = std::min<Nanoseconds>(config.reader_idle, std::chrono::seconds(10))};
  analysis_readers = std::make_unique<reader::ReaderGroup>(clock, apart, HeapAnalyses::kAtOnce);
  analyses = std::make_unique<HeapAnalyses>(*loop, *analysis_worker, *analysis_readers, *spool, capture_memory, clock,
                                            config.proc_root, [this](HeapAnalysed event) { queue.push(event); });
}

void Daemon::Impl::start_growth() {
  if (!config.is_sampling_growth) return;
  growth_reader = std::make_unique<reader::Reader>(clock, reader::ReaderConfig{.idle = config.reader_idle});
  growth = std::make_unique<GrowthSampler>(
      *growth_reader, capture_memory, clock, config.proc_root,
      [this](GrowthProfile profile, const ShareOwner& owner, bool is_last) {
        if (is_last) keep_growth_file(profile, owner);
        return loop->post([this, profile = std::move(profile)] { queue.push(profile); });
      });
}

// On the sampler's thread: some 20 KB, at most 128 stacks of 64 frames.
void Daemon::Impl::keep_growth_file(GrowthProfile& profile, const ShareOwner& owner) {
  std::uint64_t strings = 0;
  const pprof::Profile file = to_pprof(profile, {profile.time.ns + wall_offset_ns(clock)}, config.patterns);
  std::string bytes = pprof::write(file, &strings);
  auto kept = spool->put(profile.cgroup.value, "growth", Spool::Profile{std::move(bytes), {}, strings}, owner);
  if (kept) {
    profile.spool_file = std::move(*kept);
  } else {
    profile.notes.push_back("growth.pb.gz: lost: " + kept.error().message);
  }
}

void Daemon::Impl::start_writer() {
  writer = std::make_unique<EvidenceWriter>(
      *loop, *writer_worker, *spool, clock, config.data_dir, config.retention,
      [this](const Incident& incident, const StoredAt& at, const UnplacedFiles& unplaced) {
        after_write(incident, at, unplaced);
      },
      [this](const Incident& incident, const std::string& directory, bool is_first) {
        return read_profiles_apart(incident, directory, *report_readers, clock, is_first ? kFirstTexts : kTexts);
      },
      artifacts_url_of(config.sinks));
  start_sinks();
}

void Daemon::Impl::start_walk_captures() {
  walk_captures = std::make_unique<WalkCaptures>(
      *kernel, clock, capture_memory, config.reader_idle, config.proc_root,
      [this](CaptureFinished finished) { queue.push(std::move(finished)); },
      [this](HeapAnalysed analysed) { queue.push(std::move(analysed)); },
      [this](CgroupId cgroup) { return owner_of(cgroup); },
      [this](const RuntimeProcess& process, const HeapReading& heap) {
        if (trends) trends->add(process, heap, ReadingOrigin::kAtKill);
      },
      config.patterns);
  walk_captures->scan();
}

void Daemon::Impl::start_kernel() {
  kernel = KernelSource::make(config.kernel);
  for (const FeatureStatus& feature : kernel->features()) {
    log::info("{}: {}{}", feature.feature, to_string(feature.rung),
              feature.refused.empty() ? "" : " (" + feature.refused.front().reason + ")");
  }
  if (const int victims = kernel->victims_fd(); victims >= 0) {
    if (Result<> attached = VictimMarks::attach(victims); !attached) log::warn("{}", attached.error().message);
  }
  if (config.run_time_stats) {
    if (Result<> enabled = kernel->enable_run_time_stats(); !enabled.has_value()) {
      log::warn("run-time statistics: {}", enabled.error().message);
    }
  }
}

void Daemon::Impl::start_ring() {
  if (kernel->ring_fd() < 0) return;
  const auto drain = [this](std::uint32_t) { listen(); };
  if (Result<WatchId> added = loop->add_fd(kernel->ring_fd(), EPOLLIN, drain); !added.has_value()) {
    log::error("ring buffer: {}", added.error().message);
  }
}

// Without BPF programs no event waits anywhere, and all counts as received.
void Daemon::Impl::listen() {
  const MonotonicTime begun = clock.now();
  if (drain_ring() == kMaxDrain || is_standing_by()) return;
  heard_at = begun;
  if (is_past_settled) pipeline->heard(begun);  // before, the log may still name kills known from counts only
}

// The ring is a queue as well: its next record is taken when the previous one and all that it caused are handled. So a
// new cgroup is known, with its names, before a kill in it. Never call this from within a step.
std::size_t Daemon::Impl::drain_ring() {
  queue.run();
  const auto take = [this](Event event) {
    queue.push(std::move(event));
    queue.run();
  };
  return kernel->drain(take, kMaxDrain);
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
  auto made = FileEvents::make(*loop, *cgroups, clock, wanted, [this](Event event) { queue.push(std::move(event)); });
  if (!made.has_value()) return log::error("files rung: {}", made.error().message);
  files = std::move(*made);
  for (const std::string& problem : files->problems()) log::warn("files rung: {}", problem);
}

void Daemon::Impl::start_oomd_watch() {
  if (cgroups->version() == CgroupVersion::kV1) return;
  const auto say = [](const std::string& path) {
    log::warn(
        "systemd-oomd killed all processes of {}: no kill of the kernel's, so no incident "
        "(journalctl -u systemd-oomd has its reason)",
        printable(path, 512));
  };
  auto made = OomdWatch::make(*loop, *cgroups, clock, say);
  if (!made.has_value()) return log::warn("kills by systemd-oomd are not seen: {}", made.error().message);
  oomd = std::move(*made);
}

void Daemon::Impl::start_watermark_gate() {
  RestingHook* hook = kernel->page_fault_hook();
  if (hook == nullptr || !config.watermark_gate.enabled) return;
  const auto set_attached = [hook](bool is_wanted) -> Result<> {
    if (is_wanted) return hook->attach();
    hook->detach();
    return {};
  };
  watermark_gate = std::make_unique<WatermarkGate>(*loop, *cgroups, clock, config.kernel.levels_percent,
                                                   config.watermark_gate, set_attached);
}

Result<> Daemon::Impl::start_server() {
  ASSIGN_OR_RETURN(server, MetricsServer::start(
                               config.metrics_listen, [this] { return publisher->current(); }, clock,
                               CoreWatch{&loop->stalls(), config.max_core_stall}));
  log::info("metrics on port {}", server->port());
  return {};
}

void Daemon::Impl::start_web() {
  if (config.web_listen.empty() || config.web_listen == "off") return;
  const SiteConfig site{config.data_dir, nullptr, {}, config.patterns};
  web = std::make_unique<WebChild>(config.web_listen, site, [this](LiveQuestion question) -> std::string {
    const auto snapshot = publisher->current();
    if (!snapshot) return "";
    return question == LiveQuestion::kNow ? now_json(*snapshot) : health_json(*snapshot);
  });
}

void Daemon::Impl::start_timers() {
  (void)loop->add_periodic(kTick, [this] { tick(); });
  (void)loop->add_periodic(kPublish, [this] { publisher->publish(); });
  // A profile of 20,000 stacks leaves 4 MB of free heap behind that malloc would not give back, thousands of incidents
  // and containers leave gaps: 8 of 17 MB in 15 minutes of attacks. By a worker: it takes milliseconds.
  (void)loop->add_periodic(kTrimCheck,
                           [this] { (void)writer_worker->post([this] { free_heap.give_back_if_grown(); }); });
}

void Daemon::Impl::tick() {
  listen();
  pipeline->tick(clock.now());
  walk_captures->tick(*scheduler);
  scheduler->tick();
  if (watermark_gate) watermark_gate->tick();
  reader->tick();
  report_readers->tick();
  if (analyses) analysis_readers->tick(), analyses->tick();
  collect_losses();
  report_shares();
  if (process_memory) process_memory->tick(pipeline->model(), clock.now());
  if (is_standing_by()) return;
  if (!lock->is_held()) (void)lock->try_take();  // a directory that was not writable may be now
  if (trends) trends->tick(scheduler->in_flight() > 0);
  if (contents_trends) tick_contents();
  live_worker->relieve(clock.now(), config.live_timeout + patient(ReadGate::kPatience));
  if (analysis_worker) analysis_worker->relieve(clock.now(), patient(HeapAnalyses::kPatience));
  say_findings();
  report_memory();
}

// While kills go on the ring is never empty for long, so the drain ends after kMaxTime.
void Daemon::Impl::drain_to_the_end() {
  constexpr Nanoseconds kMaxTime = std::chrono::seconds(5);
  const MonotonicTime until = clock.now() + kMaxTime;
  for (std::size_t taken = kMaxDrain; taken == kMaxDrain && clock.now() < until;) {
    heard_at = clock.now();
    taken = drain_ring();
  }
}

// At the end nothing that was seen may be lost: incidents that have not settled are written as they are.
void Daemon::Impl::flush() {
  if (is_standing_by()) return;  // the other daemon writes
  drain_to_the_end();
  if (is_past_settled) pipeline->heard(clock.now() + KillAccounting::kGrace);  // nothing else will come
  pipeline->finish();
  const MonotonicTime settled = clock.now() + config.correlator.settle + config.correlator.amend;
  for (Incident& incident : pipeline->take_incidents(settled, wall_offset_ns(clock)))
    writer->write(std::move(incident));
  save_ledger();
  writer->flush();
}
}  // namespace oomw
