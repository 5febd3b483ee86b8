// SPDX-License-Identifier: Apache-2.0
#include "trends/heap_trends.h"

#include <ctime>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "base/log.h"
#include "base/patience.h"
#include "base/thread_cpu.h"
#include "events/contents_names.h"
#include "trends/trend_judgement.h"

namespace oomw {
namespace {

constexpr std::size_t kQueue = 32;
constexpr unsigned kSpares = 2;
// A leak that reaches its limit in 20 s must be seen from its first seconds on. With thousands of processes, whose list
// takes a millisecond, it may wait.
constexpr Nanoseconds kList = std::chrono::seconds(1), kLongList = std::chrono::seconds(5);
constexpr std::size_t kLong = 256;
constexpr Nanoseconds kExpiry = std::chrono::seconds(5);
constexpr const char* kNoGc = "no_gc";
constexpr const char* kBusy = "busy";  // of a CaptureReason: it is tried again when its turn comes
// A Go program that loads its configuration and connects is at its working size after this.
constexpr Nanoseconds kStartUp = std::chrono::seconds(15);
// Decoded one after the other, see CorrelatorConfig::amend_walks; the incident still accepts the evidence then.
constexpr Nanoseconds kLongestWalk = std::chrono::seconds(30);
// Naming takes milliseconds if the executable's file system answers.
constexpr Nanoseconds kNamingTime = std::chrono::seconds(15);
// A thread that takes longer counts as hanging, see tick().
constexpr Nanoseconds kRoomWait = std::chrono::seconds(2);

// Start times are on CLOCK_BOOTTIME, which goes on while the machine sleeps.
MonotonicTime started_at(ProcessKey process) {
  timespec boot{}, monotonic{};
  clock_gettime(CLOCK_BOOTTIME, &boot);
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  const std::int64_t slept_ns = (boot.tv_sec - monotonic.tv_sec) * 1'000'000'000 + boot.tv_nsec - monotonic.tv_nsec;
  return {static_cast<std::int64_t>(process.start_ticks * kNanosecondsPerTick) - slept_ns};
}

// Two thirds by age, a third for those near their limit. ahead: what may be spent at once, as time of that share.
void share_out(double core_share, Nanoseconds ahead, TrendScheduleConfig& schedule) {
  schedule.max_core_share = core_share * 2 / 3;
  schedule.near_core_share = core_share / 3;
  schedule.burst = std::chrono::duration_cast<Nanoseconds>(core_share * ahead);
  schedule.own_core_share = core_share / 3;
}

}  // namespace

TrendConfig go_trends_config(TrendConfig config) {
  share_out(config.core_share, std::chrono::seconds(50), config.schedule);
  return config;
}

TrendConfig contents_trends_config(TrendConfig config) {
  TrendScheduleConfig& schedule = config.schedule;
  // What a program loads at its start is not worth a reading.
  schedule.first_interval = kStartUp;
  // At the default share 60 ms: the first reading of 100 MiB, and a second one near a limit. What is spent ahead is
  // most of what a quarter of an hour of 50 quiet programs costs.
  share_out(config.contents_core_share, std::chrono::seconds(200), schedule);
  // A reading of 100 MiB takes 60 to 100 ms, and a climb has use for four beside its two analyses.
  schedule.own = std::chrono::milliseconds(400);
  schedule.own_core_share = config.contents_core_share * 3;
  schedule.own_ahead = std::chrono::milliseconds(1200);
  schedule.max_due = 1;
  schedule.follows_falls = true;
  config.leak.is_overlapping = true;
  config.store.max_bytes /= 8;  // lists of 16 names
  config.store.stale = std::chrono::hours(24);
  config.read_timeout = std::chrono::seconds(5);
  return config;
}

HeapTrends::HeapTrends(EventLoop& loop, Runtime& runtime, const Clock& clock, MemoryBudget& memory, TrendConfig config,
                       MemoryOf memory_of, OnJudged on_judged, KeepTrendFile keep)
    : loop_(loop),
      runtime_(runtime),
      clock_(clock),
      memory_(memory),
      config_(std::move(config)),
      memory_of_(std::move(memory_of)),
      on_judged_(std::move(on_judged)),
      keep_(std::move(keep)),
      schedule_(config_.schedule),
      store_(config_.store),
      worker_(std::make_unique<WorkerPool>("oomw-trend", 1, kQueue, kSpares)) {}

void HeapTrends::tick(bool is_busy) {
  const MonotonicTime now = clock_.now();
  worker_->relieve(now, patient(config_.read_timeout + std::chrono::seconds(2)));
  if (now >= next_list_) list_processes(now);
  end_long_waits(now);
  note_memory();
  if (is_busy) {
    if (!busy_since_) busy_since_ = now;
    if (now - *busy_since_ < kLongestBusy) return;
  }
  busy_since_.reset();
  for (const ProcessKey process : schedule_.take_due(now)) {
    if (!worker_->post([this, process] { read(process); })) finish(process, {});
  }
}

void HeapTrends::list_processes(MonotonicTime now) {
  std::vector<TrendSchedule::Process> readable;
  for (const RuntimeProcessPtr& process : runtime_.readable()) {
    readable.push_back({process->key, started_at(process->key)});
  }
  schedule_.set_processes(readable, now);
  next_list_ = now + (readable.size() > kLong ? kLongList : kList);
  if (now < next_expiry_) return;
  next_expiry_ = now + kExpiry;
  (void)worker_->post([this] {
    const std::lock_guard lock(store_mutex_);
    store_.expire(clock_.now());
    publish_locked();
  });
}

void HeapTrends::note_memory() {
  std::vector<std::pair<ProcessKey, std::uint64_t>> limits;
  for (const ProcessKey process : schedule_.take_turn(kMemoryLooks)) {
    const std::optional<ContainerMemory> memory = memory_of_(process);
    if (!memory) continue;
    schedule_.note_memory(process, *memory);
    limits.emplace_back(process, memory->limit_bytes);
  }
  const std::lock_guard lock(state_mutex_);
  metrics_.brought_forward = schedule_.brought_forward();
  for (const auto& [process, limit] : limits) limits_[process] = limit;
}

void HeapTrends::on_exit(ProcessKey process) {
  if (runtime_.process(process) == nullptr) return;  // a process that has just exited is still known
  // If the queue is full, the store notices by itself an hour later.
  (void)worker_->post([this, process, now = clock_.now()] {
    const std::lock_guard lock(store_mutex_);
    store_.gone(process, now);
  });
}

void HeapTrends::read(ProcessKey process) {
  const Nanoseconds before = thread_cpu();
  Look look;
  look.result = read_into_store(process, look.cost);
  look.cost += thread_cpu() - before;
  // If the core is behind, this result is lost, and the process waits until the schedule gives it up.
  (void)loop_.post([this, process, look = std::move(look)] { finish(process, look); });
}

std::string HeapTrends::read_into_store(ProcessKey process, Nanoseconds& cost_elsewhere) {
  if (has_nothing_new(process)) return kNoGc;
  const auto room = memory_.try_take(kMemoryBytes, kLeftForCaptures);
  if (!room) return "no_memory";
  const HeapRead read = runtime_.read(process, clock_.now() + patient(config_.read_timeout));
  cost_elsewhere = read.cost_elsewhere;
  if (!read.reading) return std::string(to_string(read.failure.reason));
  add(*read.process, *read.reading, ReadingOrigin::kScheduled);
  return "ok";
}

// True if the same program's last reading saw the same collection. Once its start-up is over, a process is read once
// more anyway: that reading is its baseline.
bool HeapTrends::has_nothing_new(ProcessKey process) {
  std::optional<std::uint32_t> seen;
  {
    const std::lock_guard lock(store_mutex_);
    const HeapTrend* trend = store_.find(process);
    if (trend == nullptr || !trend->readings().back().is_complete) return false;
    const bool is_starting_up = clock_.now() - started_at(process) < kStartUp;
    if (trend->readings().back().is_starting_up == is_starting_up) seen = trend->readings().back().gc_cycle;
  }
  return seen && runtime_.is_still_at(process, *seen);
}

void HeapTrends::finish(ProcessKey process, const Look& look) {
  schedule_.done(process, look.cost, clock_.now(), look.result != kNoGc && look.result != kBusy);
  const std::lock_guard lock(state_mutex_);
  metrics_.cpu_seconds += to_seconds(look.cost);
  ++(look.result.empty() ? metrics_.dropped["due"] : metrics_.readings[look.result]);
}

void HeapTrends::add(const RuntimeProcess& process, const HeapReading& heap, ReadingOrigin origin) {
  const bool is_starting_up = heap.as_of - started_at(process.key) < kStartUp;
  {
    const std::lock_guard lock(store_mutex_);
    store_.add(process.key, process.registered, heap, {heap.as_of, origin, is_starting_up});
    judge_locked(process.key);
    publish_locked();
  }
  if (origin == ReadingOrigin::kAtKill) on_no_more_readings(process.key);
}

ReadingWatcher HeapTrends::watcher(ReadingOrigin origin) {
  return [this, origin](const RuntimeProcess& process, const HeapReading& heap) { add(process, heap, origin); };
}

std::optional<std::uint64_t> HeapTrends::limit_of_locked(ProcessKey process) const {
  const std::lock_guard lock(state_mutex_);
  const auto known = limits_.find(process);
  return known == limits_.end() ? std::nullopt : std::optional(known->second);
}

bool HeapTrends::stop_reading() {
  std::unique_ptr<WorkerPool> last;
  {
    const std::lock_guard lock(state_mutex_);
    last.swap(worker_);
  }
  return last == nullptr || last->finish();  // without the lock, which its tasks take
}

void HeapTrends::judge_at_kill(ProcessKey victim, bool has_incident) {
  const RuntimeProcessPtr process = runtime_.process(victim);
  if (process == nullptr) return;
  if (has_incident) await_walk(process);
  const auto judge = [this, process] {
    const std::optional<Known> known = known_of(process->key);
    if (!known) return;
    report(*known, *process, *process->names(clock_, clock_.now() + kNamingTime), {});
    const bool is_walked = known->trend.readings().back().origin == ReadingOrigin::kAtKill;  // before it was reported
    if (is_walked) on_no_more_readings(process->key);
  };
  if (worker_->queued() < kMaxJudgedAtKill && worker_->post(judge)) return;
  const std::lock_guard lock(state_mutex_);
  ++metrics_.dropped["judgement"];
}

void HeapTrends::await_walk(const RuntimeProcessPtr& victim) {
  const std::lock_guard lock(state_mutex_);
  if (awaited_.size() < kMaxAwaited) {
    awaited_.insert_or_assign(victim->key.pid, Awaited{victim, clock_.now()});
  } else {
    ++metrics_.dropped["incident"];
  }
}

void HeapTrends::on_no_more_readings(ProcessKey victim) {
  const std::lock_guard lock(state_mutex_);
  const auto awaited = awaited_.extract(victim.pid);
  if (awaited.empty()) return;
  const auto keep = [this, process = awaited.mapped().process] { keep_evidence(*process); };
  if (worker_ == nullptr || !worker_->post(keep)) ++metrics_.dropped["incident"];
}

void HeapTrends::end_long_waits(MonotonicTime now) {
  std::vector<ProcessKey> overdue;
  {
    const std::lock_guard lock(state_mutex_);
    for (const auto& [pid, awaited] : awaited_) {
      if (now - awaited.since > kLongestWalk) overdue.push_back(awaited.process->key);
    }
  }
  for (const ProcessKey victim : overdue) on_no_more_readings(victim);
}

std::optional<HeapTrends::Known> HeapTrends::known_of(ProcessKey victim) {
  std::optional<Known> known;
  std::optional<std::uint64_t> limit;
  {
    const std::lock_guard lock(store_mutex_);
    const HeapTrend* trend = store_.find(victim);
    if (trend == nullptr || trend->readings().size() < kLeastReadings) return std::nullopt;
    known = Known{*trend, {}};
    limit = limit_of_locked(victim);
  }
  known->report = find_leaks(known->trend, limit, config_.leak);
  return known;
}

void HeapTrends::keep_evidence(const RuntimeProcess& victim) {
  const std::optional<Known> known = known_of(victim.key);
  if (!known) return;
  const auto room = memory_.take(kEvidenceBytes, kRoomWait);
  const auto names = victim.names(clock_, clock_.now() + kNamingTime);
  if (!room) {  // the walk is judged all the same
    const std::lock_guard lock(state_mutex_);
    ++metrics_.dropped["incident"];
  } else {
    auto evidence = keep_trend_evidence(known->trend, known->report, victim.key, *names, clock_, keep_, victim.kind());
    if (evidence) return report(*known, victim, *names, *evidence);
    log::warn("trend of pid {}: {}", victim.key.pid, evidence.error().message);
  }
  report(*known, victim, *names, {});
}

void HeapTrends::report(const Known& known, const RuntimeProcess& victim, ProgramNames& names,
                        const TrendEvidence& evidence) {
  TrendJudged judged = judged_trend(known.trend, known.report, victim.key, names, evidence, clock_.now());
  judged.of = victim.kind();
  // If the core is behind, the incident goes without it.
  (void)loop_.post([this, judged] {
    if (on_judged_) on_judged_(judged);
  });
}

void HeapTrends::judge_locked(ProcessKey process) {
  const HeapTrend* trend = store_.find(process);
  if (trend == nullptr) return;
  // Start-up growth is not a leak. The verdict after a kill must decide with what it has; the metric can wait for
  // more readings.
  const std::optional<std::size_t> first = trend->after_start_up();
  if (!first) return;
  const TrendSeries series = series_of(*trend, config_.leak.min_gained_bytes, *first);
  const LeakReport report = find_leaks(series, limit_of_locked(process), config_.leak);
  if (report.readings < config_.leak.min_readings) return;
  GrowingContents growing;
  if (const RuntimeProcessPtr known = runtime_.process(process)) growing = growing_in(*trend, report, *known);
  const std::lock_guard lock(state_mutex_);
  auto& [suspicion, its_growing] = suspicions_[process];
  const bool was_raised = suspicion.is_raised();
  suspicion.add(report.is_alarming, report.span_seconds, to_seconds(config_.suspect_after));
  its_growing = suspicion.is_raised() ? std::move(growing) : GrowingContents{};
  if (suspicion.is_raised() && !was_raised) say_suspected(process, report, its_growing);
}

GrowingContents HeapTrends::growing_in(const HeapTrend& trend, const LeakReport& report,
                                       const RuntimeProcess& process) const {
  if (!report.is_alarming || report.suspects.empty() || !process.has_names_at_hand()) return {};
  const auto names = process.names(clock_, clock_.now());
  const SiteTrend* most = nullptr;
  std::vector<std::string> frames;
  for (const SiteTrend& suspect : report.suspects) {
    std::vector<std::string> its = frames_of_site(trend, suspect.site, *names, 2);
    const bool is_as_large = suspect.gained_bytes >= report.suspects.front().gained_bytes / 2;
    if (most != nullptr && (!is_as_large || told_by_name(its) <= told_by_name(frames))) continue;
    most = &suspect;
    frames = std::move(its);
  }
  return {fmt::format("{}", fmt::join(frames, ", ")), static_cast<std::uint64_t>(most->first_bytes),
          static_cast<std::uint64_t>(most->last_bytes), report.span_seconds};
}

void HeapTrends::say_suspected(ProcessKey process, const LeakReport& report, const GrowingContents& growing) const {
  if (growing.name.empty()) {
    log::info("pid {}: {} call sites hold more and more, {:.0f} bytes/s in all", process.pid, report.suspects.size(),
              report.whole.slope);
  } else {
    log::info("pid {} keeps growing: {}", process.pid, growing.text());
  }
}

void HeapTrends::publish_locked() {
  const std::lock_guard lock(state_mutex_);
  metrics_.bytes = store_.bytes();
  metrics_.dropped["reading"] = store_.thinned_readings();
  metrics_.dropped["process"] = store_.dropped_processes();
  const auto is_forgotten = [this](const auto& entry) { return store_.find(entry.first) == nullptr; };
  std::erase_if(suspicions_, is_forgotten);
  std::erase_if(limits_, is_forgotten);
}

LeakSuspicions HeapTrends::suspicions() const {
  const std::lock_guard lock(state_mutex_);
  LeakSuspicions all;
  for (const auto& [process, one] : suspicions_) {
    all.emplace(process, LeakSuspicion{one.suspicion.is_raised(), one.growing});
  }
  return all;
}

TrendMetrics HeapTrends::metrics() const {
  const std::lock_guard lock(state_mutex_);
  return metrics_;
}

}  // namespace oomw
