// SPDX-License-Identifier: Apache-2.0
#include "daemon/walk_captures.h"

#include <algorithm>
#include <utility>

#include "analyses/pools_at_kill.h"
#include "base/files.h"
#include "base/log.h"
#include "base/patience.h"
#include "base/text.h"
#include "captures/capture_event.h"
#include "captures/walk_job.h"
#include "system/container_path.h"

namespace oomw {
namespace {

constexpr unsigned kInspectors = 2;
constexpr std::size_t kInspectionQueue = 4'096;  // tasks; the start-up scan's too
constexpr std::size_t kWalkQueue = 256;
// 4,600 stacks of 36 frames, decoded in 30 ms. Long ones of two containers held up a neighbour's for 5.4 s on a busy
// node.
constexpr std::uint64_t kShortWalk = 1u << 20;
constexpr std::size_t kWalkReaders = 2;  // as many as there are threads
constexpr std::size_t kMaxPids = 65'536;
constexpr std::size_t kMaxCgroups = 16u << 10;  // bytes of /proc/PID/cgroup
constexpr std::size_t kScanBatch = 32;          // so that a new exec waits for 1 ms, not for all of /proc
constexpr std::size_t kMaxWalked = 1'024;
constexpr unsigned kSpares = 4;
constexpr std::size_t kMaxNumbered = 16'384;  // owners; more than there are Go processes at a time
constexpr Nanoseconds kInspectionPatience = std::chrono::seconds(3);
constexpr Nanoseconds kWalkPatience =
    std::chrono::seconds(50);  // decode_walk() takes 40 s at most, and waits 5 s for room
// Records of 20 frames take 336 bytes; decoded, named and encoded 900.
constexpr std::uint64_t kDecodedPerRecorded = 3;
constexpr Nanoseconds kRoomWait = std::chrono::seconds(5);

std::string why_unserved(const KernelSource& kernel) {
  for (const FeatureStatus& feature : kernel.features()) {
    if (feature.feature == "heap_at_kill" && !feature.refused.empty()) return feature.refused.back().reason;
  }
  return "switched off";
}

// A container may make cgroups below its own, so its directories are not its owners.
std::string owner_of_cgroups(std::string_view cgroups) {
  for (const std::string_view line : split(cgroups, '\n')) {
    const std::size_t path = line.find('/');
    if (path == std::string_view::npos) continue;
    const auto identity = identity_from_path(line.substr(path));
    if (identity) return identity->pod_uid + " " + identity->id + " " + identity->unit;
  }
  return std::string(cgroups);
}

}  // namespace

WalkCaptures::WalkCaptures(KernelSource& kernel, const Clock& clock, MemoryBudget& memory, Nanoseconds reader_idle,
                           std::string proc_root, CaptureScheduler::Deliver deliver, DeliverAnalysed deliver_analysed,
                           OwnerOf owner_of, ReadingWatcher snapshot_watcher, OperationPatterns patterns)
    : kernel_(kernel),
      clock_(clock),
      memory_(memory),
      proc_root_(std::move(proc_root)),
      deliver_(std::move(deliver)),
      deliver_analysed_(std::move(deliver_analysed)),
      owner_of_(std::move(owner_of)),
      snapshot_watcher_(std::move(snapshot_watcher)),
      patterns_(std::move(patterns)),
      walk_readers_(clock, reader::ReaderConfig{.idle = reader_idle}, kWalkReaders),
      inspector_(clock, reader::ReaderConfig{.idle = reader_idle}),
      registry_(clock, {.proc_root = proc_root_, .inspector = &inspector_, .owner_of_cgroups = owner_of_cgroups},
                watcher()),
      inspections_(inspectors_, kInspectors, patient(kInspectionPatience), clock,
                   [this](ProcessKey process, std::optional<MonotonicTime> exec_time) {
                     (void)registry_.add(process, exec_time);
                   }),
      inspectors_("oomw-inspect", kInspectors, kInspectionQueue, kSpares),
      walkers_("oomw-walk", 1, kWalkQueue, kSpares),
      short_walkers_("oomw-short-walk", 1, kWalkQueue, kSpares) {}

GoRegistry::Watcher WalkCaptures::watcher() {
  return {[this](const GoProcess& process) { report_to_kernel(process); },
          [this](ProcessKey process) {
            if (HeapWalks* walks = kernel_.heap_walks()) walks->unwatch(process);
          }};
}

// Any thread. 0: it is not known.
std::uint64_t WalkCaptures::number_of(const std::string& owner) {
  if (owner.empty()) return 0;
  const std::lock_guard lock(numbers_mutex_);
  // Their budgets begin anew, a second's worth.
  if (numbers_.size() >= kMaxNumbered && !numbers_.contains(owner)) numbers_.clear();
  const auto [found, is_new] = numbers_.try_emplace(owner, last_number_ + 1);
  if (is_new) ++last_number_;
  return found->second;
}

// Any thread.
void WalkCaptures::report_to_kernel(const GoProcess& process) {
  HeapWalks* walks = kernel_.heap_walks();
  if (walks == nullptr || !process.target || !process.target->variables.buckets) return;
  const go::HeapVariables& found = process.target->variables;
  HeapAddresses addresses{.buckets = *found.buckets,
                          .rate = found.rate.value_or(0),
                          .cycle = found.cycle.value_or(0),
                          .text = process.text_address(),
                          .record_words = process.record_words,
                          .owner = number_of(process.owner)};
  if (const auto list = process.goroutines.load()) {
    addresses.goroutines = list->address;
    addresses.status_offset = list->status_offset;
    addresses.reason_offset = list->reason_offset;
  }
  if (const Result<> told = walks->watch(process.key, addresses); !told.has_value()) {
    log::debug("pid {} is not watched: {}", process.key.pid, told.error().message);
  }
}

void WalkCaptures::scan() {
  const auto names = list_directory(proc_root_, kMaxPids);
  if (!names.has_value()) return log::error("start-up scan: {}", names.error().message);
  std::vector<ProcessKey> batch;
  const auto post = [&] {
    const bool is_posted = inspectors_.post([this, keys = std::exchange(batch, {})] {
      for (const ProcessKey key : keys) (void)registry_.add(key);
    });
    if (!is_posted) ++lost_inspections_;
  };
  for (const std::string& name : *names) {
    const auto pid = parse_u64(name);
    if (!pid || *pid == 0 || *pid > INT32_MAX) continue;
    batch.push_back({static_cast<std::int32_t>(*pid), 0});
    if (batch.size() == kScanBatch) post();
  }
  if (!batch.empty()) post();
}

void WalkCaptures::inspect(ProcessKey process, CgroupId cgroup, std::optional<MonotonicTime> exec_time) {
  if (!inspections_.add(owner_of_(cgroup), process, exec_time)) ++lost_inspections_;
}

void WalkCaptures::on_exec(const ProcessExec& exec) {
  forget_pools(exec.process);
  inspect(exec.process, exec.cgroup, exec.time);
}

// Without a cgroup it is the answer about a process's arguments, whose plain files were seen before: to inspect it
// again would be on the account that all share whose container is not known.
void WalkCaptures::on_seen(const ProcessSeen& seen) {
  if (!seen.cgroup) return;
  if (registry_.find(seen.process) == nullptr) inspect(seen.process, seen.cgroup, std::nullopt);
}

void WalkCaptures::on_analysed(const HeapAnalysed& analysed) {
  if (!analysed.goroutine_list.empty()) registry_.set_goroutines(analysed.process, analysed.goroutine_list.front());
  if (!analysed.pool_table.empty()) watch_pools(analysed.process, analysed.pool_table.front());
}

void WalkCaptures::forget_pools(ProcessKey process) {
  std::erase_if(known_pools_, [&](const KnownPools& known) { return known.process == process; });
}

void WalkCaptures::watch_pools(ProcessKey process, PoolTable table) {
  PoolAddresses addresses{.arenas = table.arenas, .type_type = table.type_type, .pool_bytes = table.pool_bytes};
  forget_pools(process);
  known_pools_.push_back({process, std::move(table)});
  if (known_pools_.size() > kMaxKnownPools) known_pools_.pop_front();
  if (kernel_.heap_walks() == nullptr) return;
  const bool is_posted = inspectors_.post([this, process, addresses]() mutable {
    const auto cgroups = read_file(proc_root_ + "/" + std::to_string(process.pid) + "/cgroup", kMaxCgroups);
    if (cgroups.has_value()) addresses.owner = number_of(owner_of_cgroups(*cgroups));
    const Result<> told = kernel_.heap_walks()->watch_pools(process, addresses);
    if (!told.has_value()) log::debug("pid {}: its pools are not watched: {}", process.pid, told.error().message);
  });
  if (!is_posted) ++lost_inspections_;
}

void WalkCaptures::on_exit(const ProcessExit& exit) { registry_.forget(exit.process); }

CaptureFinished WalkCaptures::failed(MonotonicTime time, const CaptureTarget& victim, CaptureReason reason,
                                     std::string detail) {
  return not_taken(begin_capture(request_at_kill(victim), CaptureMethod::kAtKill, time), time,
                   {reason, std::move(detail)});
}

void WalkCaptures::on_kill(const OomKill& kill, ProcessKey victim) {
  if (awaited_.contains(victim) || was_walked(victim)) return;
  await_pools(kill, victim);
  const GoProcessPtr process = registry_.find(victim);
  if (process == nullptr) return;  // not Go, as far as is known
  const auto fail = [&](CaptureReason reason, std::string detail) {
    return failed(kill.time, {victim, kill.victim_cgroup, "", ""}, reason, std::move(detail));
  };
  if (!process->target || !process->target->variables.buckets) {
    const bool is_known_why = process->reason != CaptureReason::kNone;
    return deliver_(fail(is_known_why ? process->reason : CaptureReason::kNotFound, process->detail));
  }
  if (kernel_.heap_walks() == nullptr) return deliver_(fail(CaptureReason::kUnsupported, why_unserved(kernel_)));
  if (awaited_.size() >= kMaxAwaited) {
    return deliver_(fail(CaptureReason::kQueueFull, "more victims at once than walks are waited for"));
  }
  awaited_.emplace(
      victim,
      Awaited{fail(CaptureReason::kNoWalk,
                   "the dying process was not walked within 2 s: frozen, killed before the kernel knew where to look, "
                   "or one of more than 128 victims at once"),
              clock_.now() + kWalkWait});
}

bool WalkCaptures::was_walked(ProcessKey victim) const {
  return std::find(walked_.begin(), walked_.end(), victim) != walked_.end();
}

void WalkCaptures::on_walked(const HeapWalked& walk, CaptureScheduler& scheduler) {
  awaited_.erase(walk.process);
  if (was_walked(walk.process)) return;
  const ShareOwner owner = owner_of_(walk.cgroup);
  if (walk.stop == WalkStop::kTimeLimit) cut_walks_.note(owner);
  walked_.push_back(walk.process);
  if (walked_.size() > kMaxWalked) walked_.pop_front();
  if (walk.pools) return on_pools_walked(walk);
  // Found now: the registry keeps exited processes for 10 s, and a storm's last walk may wait longer.
  const auto decode_it = [this, walk, taken = take(walk), process = registry_.find(walk.process)] {
    CaptureOutcome outcome = decode(walk, taken.get(), process);
    const auto list = process ? process->goroutines.load() : nullptr;
    if (list) add_goroutines(outcome.finished, walk, *list);
    return outcome;
  };
  WorkerPool& walkers = walk.bytes > kShortWalk ? walkers_ : short_walkers_;
  if (!scheduler.run_on(walkers, owner, decode_it)) refuse(walk);
}

void WalkCaptures::await_pools(const OomKill& kill, ProcessKey victim) {
  const auto known = std::ranges::find(known_pools_, victim, &KnownPools::process);
  if (known == known_pools_.end()) return;
  const bool is_served = kernel_.heap_walks() != nullptr;
  known->failed = pools_not_counted(victim, kill.victim_cgroup, kill.time,
                                    is_served ? CaptureReason::kNoWalk : CaptureReason::kUnsupported,
                                    is_served ? "the process was not walked within 2 s" : why_unserved(kernel_));
  known->due = is_served ? clock_.now() + kWalkWait : clock_.now();
}

void WalkCaptures::give_up_pools(MonotonicTime now) {
  const auto is_over = [&](const KnownPools& known) { return known.failed && known.due <= now; };
  for (auto over = std::ranges::find_if(known_pools_, is_over); over != known_pools_.end();
       over = std::ranges::find_if(known_pools_, is_over)) {
    HeapAnalysed failed = std::move(*over->failed);
    failed.time = now;
    known_pools_.erase(over);
    deliver_analysed_(std::move(failed));
  }
}

// 57 KiB of records, 0.2 ms: no worker's work.
void WalkCaptures::on_pools_walked(const HeapWalked& walk) {
  std::vector<std::byte> records;
  empty_pool_of(walk, [&records](std::span<const std::byte> chunk) {
    records.insert(records.end(), chunk.begin(), chunk.end());
  });
  const auto known = std::ranges::find(known_pools_, walk.process, &KnownPools::process);
  if (known == known_pools_.end()) return;  // of more than are known at a time
  deliver_analysed_(pools_at_kill(walk, records, known->table));
  known_pools_.erase(known);
}

// The walk was done but cannot be decoded: it still gets a result, and its chunks go back.
void WalkCaptures::refuse(const HeapWalked& walk) {
  (void)kernel_.heap_walks()->take_chunks(walk, [](std::span<const std::byte>) {});
  deliver_(failed(walk.time, {walk.process, walk.cgroup, "", ""}, CaptureReason::kQueueFull,
                  "too many walks wait to be decoded"));
}

struct WalkCaptures::Taken {
  MemoryBudget::Lease lease;
  WalkRecords records;
};

// Done at once, 3 ms for 20,000 stacks: decoding and naming them takes 100 ms, and the pool holds two such walks (2 of
// 654 kills found it full while another's was being decoded). Null: no room; the worker takes the records when its
// turn comes.
std::shared_ptr<WalkCaptures::Taken> WalkCaptures::take(const HeapWalked& walk) {
  auto lease = memory_.try_take(walk.bytes, kLeftByWalks);
  if (!lease) return nullptr;
  auto records = WalkRecords::make();
  if (!records) return nullptr;
  auto taken = std::make_shared<Taken>(Taken{std::move(*lease), std::move(*records)});
  empty_pool_of(walk, [&taken](std::span<const std::byte> chunk) { taken->records.add(chunk); });
  return taken;
}

void WalkCaptures::empty_pool_of(const HeapWalked& walk, const TakeChunk& take) const {
  const Result<> done = kernel_.heap_walks()->take_chunks(walk, take);
  if (!done.has_value()) log::warn("walk of pid {}: {}", walk.process.pid, done.error().message);
}

// Walker thread. Only a reader that hangs keeps its room for longer than kRoomWait, and it no longer grows: then this
// goes on without room of its own.
CaptureOutcome WalkCaptures::decode(const HeapWalked& walk, Taken* taken, const GoProcessPtr& process) {
  const auto room = memory_.take(walk.bytes * kDecodedPerRecorded, kRoomWait);
  const auto decode_it = [&](const WalkRecords& records) {
    return decode_walk(walk, process, records, walk_readers_, clock_, snapshot_watcher_, patterns_);
  };
  if (taken != nullptr) return decode_it(taken->records);
  auto records = WalkRecords::make();
  if (!records) {
    empty_pool_of(walk, [](std::span<const std::byte>) {});
    return {
        failed(walk.time, {walk.process, walk.cgroup, "", ""}, CaptureReason::kReaderFailed, records.error().message),
        ""};
  }
  empty_pool_of(walk, [&records](std::span<const std::byte> chunk) { records->add(chunk); });
  return decode_it(*records);
}

void WalkCaptures::tick(CaptureScheduler& scheduler) {
  const MonotonicTime now = clock_.now();
  inspectors_.relieve(now, patient(kInspectionPatience));
  walkers_.relieve(now, patient(kWalkPatience));
  short_walkers_.relieve(now, patient(kWalkPatience));
  inspections_.tick();
  inspector_.tick();
  walk_readers_.tick();
  if (now >= next_sweep_) {
    next_sweep_ = now + kSweep;
    (void)inspectors_.post([this, now] { registry_.tick(now); });
  }
  if (HeapWalks* walks = kernel_.heap_walks()) {
    for (const HeapWalked& walk : walks->unreported(now)) on_walked(walk, scheduler);
  }
  give_up_pools(now);
  std::vector<CaptureFinished> overdue;  // delivered last: their receiver may bring the next kill
  for (auto it = awaited_.begin(); it != awaited_.end();) {
    const auto entry = it++;
    if (entry->second.due > now) continue;
    entry->second.failed.time = now;
    overdue.push_back(std::move(entry->second.failed));
    awaited_.erase(entry);
  }
  for (CaptureFinished& capture : overdue) deliver_(std::move(capture));
}

void WalkCaptures::close() {
  inspectors_.close();
  walkers_.close();
  short_walkers_.close();
}

bool WalkCaptures::finish() {
  const bool has_inspected = inspectors_.finish(), has_walked = walkers_.finish();
  return short_walkers_.finish() && has_inspected && has_walked;
}

CaptureOutcome WalkCaptures::store_living(ReadingToStore stored, const RuntimeProcess& process) {
  const GoProcessPtr known = registry_.find(process.key);
  if (known.get() != &process) return store_reading(std::move(stored), process, patterns_, clock_);
  return store_reading_apart(std::move(stored), *known, patterns_, inspector_.heap_readers(), clock_);
}

std::vector<reader::ReaderCounters> WalkCaptures::reader_counters() const {
  std::vector<reader::ReaderCounters> all = walk_readers_.counters();
  const auto inspections = inspector_.counters();
  all.insert(all.end(), inspections.begin(), inspections.end());
  return all;
}

void WalkCaptures::add_metrics(GoProcessMetrics& metrics) const {
  const GoRegistryCounters counters = registry_.counters();
  metrics.available = counters.available;
  metrics.linked_out = counters.linked_out;
  metrics.not_found = counters.not_found;
  CaptureMetrics::Histogram& delays = metrics.registration_seconds;
  for (const Nanoseconds bound : GoRegistryCounters::kDelayBounds) delays.bounds.push_back(to_seconds(bound));
  delays.counts.assign(counters.delays.begin(), counters.delays.end());
  delays.sum = to_seconds(counters.delay_sum);
}

void WalkCaptures::add_excesses(ShareExcesses& excesses) const {
  excesses[ShareKind::kWalks] = cut_walks_;
  excesses[ShareKind::kInspections] = inspections_.over_share();
  excesses[ShareKind::kGoProcesses] = registry_.over_share();
}

LostCounts WalkCaptures::lost() const {
  LostCounts lost;
  lost[LostStage::kGoLooks] = lost_inspections_;
  lost[LostStage::kHungFiles] = inspectors_.given_up() + walkers_.given_up() + short_walkers_.given_up();
  lost[LostStage::kGoProcesses] = registry_.counters().dropped;
  return lost;
}

}  // namespace oomw
