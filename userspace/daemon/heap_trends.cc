// SPDX-License-Identifier: Apache-2.0
#include "daemon/heap_trends.h"

#include <ctime>
#include <utility>
#include <vector>

#include "base/log.h"
#include "daemon/trend_evidence.h"

namespace oomw {
namespace {

constexpr std::size_t kQueue = 32;
constexpr unsigned kSpares = 2;
constexpr Nanoseconds kList = std::chrono::seconds(5);
// A Go program that loads its configuration and connects is at its working size after this.
constexpr Nanoseconds kStartUp = std::chrono::seconds(15);

// CPU time of the calling thread.
Nanoseconds thread_cpu() {
  timespec spent{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return std::chrono::seconds(spent.tv_sec) + Nanoseconds(spent.tv_nsec);
}

// Start times are on CLOCK_BOOTTIME, which goes on while the machine sleeps.
MonotonicTime started_at(ProcessKey process) {
  timespec boot{}, monotonic{};
  clock_gettime(CLOCK_BOOTTIME, &boot);
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  const std::int64_t slept_ns = (boot.tv_sec - monotonic.tv_sec) * 1'000'000'000 + boot.tv_nsec - monotonic.tv_nsec;
  return {static_cast<std::int64_t>(process.start_ticks * kNanosecondsPerTick) - slept_ns};
}

}  // namespace

HeapTrends::HeapTrends(EventLoop& loop, GoProcesses& processes, const Clock& clock, MemoryBudget& memory,
                       TrendConfig config, LimitOf limit_of)
    : loop_(loop),
      processes_(processes),
      clock_(clock),
      memory_(memory),
      config_(std::move(config)),
      limit_of_(std::move(limit_of)),
      schedule_(config_.schedule),
      store_(config_.store),
      worker_(std::make_unique<WorkerPool>("oomw-trend", 1, kQueue, kSpares)) {}

void HeapTrends::tick(bool is_busy) {
  const MonotonicTime now = clock_.now();
  worker_->relieve(now, kTimeout + std::chrono::seconds(2));
  if (now >= next_list_) {
    next_list_ = now + kList;
    list_processes();
  }
  if (is_busy) return;
  for (const ProcessKey process : schedule_.take_due(now)) {
    if (const auto limit = limit_of_(process)) {
      const std::lock_guard lock(state_mutex_);
      limits_[process] = *limit;
    }
    if (!worker_->post([this, process] { read(process); })) finish(process, "", {});
  }
}

void HeapTrends::list_processes() {
  std::vector<TrendSchedule::Process> readable;
  for (const GoProcessPtr& process : processes_.readable()) {
    readable.push_back({process->key, started_at(process->key)});
  }
  schedule_.set_processes(readable, clock_.now());
  (void)worker_->post([this] {
    const std::lock_guard lock(store_mutex_);
    store_.expire(clock_.now());
    publish_locked();
  });
}

void HeapTrends::on_exit(ProcessKey process) {
  if (processes_.find(process) == nullptr) return;  // the registry still knows who has just gone
  // A full queue: the store notices by itself, an hour later.
  (void)worker_->post([this, process, now = clock_.now()] {
    const std::lock_guard lock(store_mutex_);
    store_.gone(process, now);
  });
}

void HeapTrends::read(ProcessKey process) {
  const Nanoseconds before = thread_cpu();
  const std::string result = read_into_store(process);
  const Nanoseconds cost = thread_cpu() - before;
  // A core that is behind forgets this one until the schedule gives it up.
  (void)loop_.post([this, process, result, cost] { finish(process, result, cost); });
}

std::string HeapTrends::read_into_store(ProcessKey process) {
  const auto room = memory_.try_take(kMemoryBytes, kLeftForCaptures);
  if (!room) return "no_memory";
  const LiveRead taken = read_live(processes_, process, clock_, clock_.now() + kTimeout);
  if (taken.failure) return taken.failure->reason;
  add(*taken.process, *taken.snapshot, taken.taken, ReadingOrigin::kScheduled);
  return "ok";
}

// result "": it was not even tried.
void HeapTrends::finish(ProcessKey process, const std::string& result, Nanoseconds cost) {
  schedule_.done(process, cost, clock_.now());
  const std::lock_guard lock(state_mutex_);
  ++(result.empty() ? metrics_.dropped["due"] : metrics_.readings[result]);
}

void HeapTrends::add(const GoProcess& process, const goruntime::HeapSnapshot& snapshot, MonotonicTime taken,
                     ReadingOrigin origin) {
  const bool is_starting_up = taken - started_at(process.key) < kStartUp;
  const std::lock_guard lock(store_mutex_);
  store_.add(process.key, process.registered, snapshot, {taken, origin, is_starting_up});
  judge_locked(process.key);
  publish_locked();
}

SnapshotWatcher HeapTrends::watcher(ReadingOrigin origin) {
  return [this, origin](const GoProcess& process, const goruntime::HeapSnapshot& snapshot, MonotonicTime taken) {
    add(process, snapshot, taken, origin);
  };
}

std::optional<std::uint64_t> HeapTrends::limit_of_locked(ProcessKey process) const {
  const std::lock_guard lock(state_mutex_);
  const auto known = limits_.find(process);
  return known == limits_.end() ? std::nullopt : std::optional(known->second);
}

void HeapTrends::write_evidence(ProcessKey victim, const std::string& directory) {
  GoProcessPtr process = processes_.find(victim);
  if (process == nullptr) return;
  if (worker_->post([this, process = std::move(process), directory] { write_evidence_now(*process, directory); }))
    return;
  const std::lock_guard lock(state_mutex_);
  ++metrics_.dropped["incident"];
}

void HeapTrends::write_evidence_now(const GoProcess& victim, const std::string& directory) {
  std::optional<HeapTrend> trend;  // a copy: naming and writing must not hold up captures that add to it
  std::optional<std::uint64_t> limit;
  {
    const std::lock_guard lock(store_mutex_);
    const HeapTrend* known = store_.find(victim.key);
    if (known == nullptr || known->readings().size() < kLeastReadings) return;
    trend = *known;
    limit = limit_of_locked(victim.key);
  }
  const LeakReport report = find_leaks(*trend, limit, config_.leak);
  const Result<> written = write_trend_evidence(*trend, report, victim, clock_, directory);
  if (!written.has_value()) log::warn("trend of pid {}: {}", victim.key.pid, written.error().message);
}

void HeapTrends::judge_locked(ProcessKey process) {
  const HeapTrend* trend = store_.find(process);
  if (trend == nullptr) return;
  const LeakReport report = find_leaks(*trend, limit_of_locked(process), config_.leak);
  if (report.readings < config_.leak.min_readings) return;
  const bool is_growing = !report.suspects.empty() || report.whole.judgement == LeakJudgement::kLeak;
  const bool is_suspected = is_growing && report.span_seconds >= to_seconds(config_.suspect_after);
  const std::lock_guard lock(state_mutex_);
  bool& known = suspicions_[process];
  if (is_suspected && !known) {
    log::info("pid {}: {} call sites hold more and more, {:.0f} bytes/s in all", process.pid, report.suspects.size(),
              report.whole.slope);
  }
  known = is_suspected;
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

std::map<ProcessKey, bool> HeapTrends::suspicions() const {
  const std::lock_guard lock(state_mutex_);
  return suspicions_;
}

TrendMetrics HeapTrends::metrics() const {
  const std::lock_guard lock(state_mutex_);
  return metrics_;
}

}  // namespace oomw
