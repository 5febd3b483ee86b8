// SPDX-License-Identifier: Apache-2.0
#include "daemon/go_heaps.h"

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "captures/walk_capture.h"

namespace oomw {
namespace {

constexpr std::size_t kLookQueue = 4'096;  // an exec storm of 2 s at 2,000 a second
constexpr std::size_t kWalkQueue = 256;
constexpr std::size_t kMaxPids = 65'536;
constexpr std::size_t kScanBatch = 32;  // so that an exec meanwhile waits for 1 ms, not for all of /proc
constexpr std::size_t kMaxWalked = 1'024;
constexpr unsigned kSpares = 4;
constexpr Nanoseconds kLookPatience = std::chrono::seconds(3);
constexpr Nanoseconds kWalkPatience = std::chrono::seconds(30);  // WalkDecoder takes 15 s at most if files answer
// Records of 20 frames take 336 bytes; decoded, named and encoded 900.
constexpr std::uint64_t kDecodedPerRecorded = 3;
constexpr Nanoseconds kRoomWait = std::chrono::seconds(5);

std::string why_unserved(const KernelSource& kernel) {
  for (const FeatureStatus& feature : kernel.features()) {
    if (feature.feature == "heap_at_kill" && !feature.refused.empty()) return feature.refused.back().reason;
  }
  return "switched off";
}

}  // namespace

GoHeaps::GoHeaps(KernelSource& kernel, const Clock& clock, MemoryBudget& memory, std::string proc_root,
                 CaptureScheduler::Deliver deliver, SnapshotWatcher snapshot_watcher)
    : kernel_(kernel),
      clock_(clock),
      memory_(memory),
      proc_root_(std::move(proc_root)),
      deliver_(std::move(deliver)),
      snapshot_watcher_(std::move(snapshot_watcher)),
      processes_(clock, {.proc_root = proc_root_}, watcher()),
      lookers_("oomw-look", 2, kLookQueue, kSpares),
      walkers_("oomw-walk", 1, kWalkQueue, kSpares) {}

GoProcesses::Watcher GoHeaps::watcher() {
  return {[this](const GoProcess& process) { tell_kernel(process); },
          [this](ProcessKey process) {
            if (GoHeap* walks = kernel_.go_heap()) walks->unwatch(process);
          }};
}

// Any worker.
void GoHeaps::tell_kernel(const GoProcess& process) {
  GoHeap* walks = kernel_.go_heap();
  if (walks == nullptr || !process.target || !process.target->variables.buckets) return;
  const go::HeapVariables& found = process.target->variables;
  const GoHeapAddresses addresses{*found.buckets, found.rate.value_or(0), found.cycle.value_or(0),
                                  process.text_address(), process.record_words};
  if (const Result<> told = walks->watch(process.key, addresses); !told.has_value()) {
    log::debug("pid {} is not watched: {}", process.key.pid, told.error().message);
  }
}

void GoHeaps::scan() {
  const auto names = list_directory(proc_root_, kMaxPids);
  if (!names.has_value()) return log::error("start-up scan: {}", names.error().message);
  std::vector<ProcessKey> batch;
  const auto post = [&] {
    const bool is_posted = lookers_.post([this, keys = std::exchange(batch, {})] {
      for (const ProcessKey key : keys) (void)processes_.add(key);
    });
    if (!is_posted) ++lost_looks_;
  };
  for (const std::string& name : *names) {
    const auto pid = parse_u64(name);
    if (!pid || *pid == 0 || *pid > INT32_MAX) continue;
    batch.push_back({static_cast<std::int32_t>(*pid), 0});
    if (batch.size() == kScanBatch) post();
  }
  if (!batch.empty()) post();
}

void GoHeaps::look_at(ProcessKey process, std::optional<MonotonicTime> exec_time) {
  if (!lookers_.post([this, process, exec_time] { (void)processes_.add(process, exec_time); })) ++lost_looks_;
}

void GoHeaps::on_exec(const ProcessExec& exec) { look_at(exec.process, exec.time); }

void GoHeaps::on_seen(const ProcessSeen& seen) {
  if (processes_.find(seen.process) == nullptr) look_at(seen.process, std::nullopt);
}

void GoHeaps::on_exit(const ProcessExit& exit) { processes_.forget(exit.process); }

CaptureFinished GoHeaps::failure(MonotonicTime time, CgroupId cgroup, ProcessKey victim) const {
  CaptureFinished failed;
  failed.time = failed.started = time;
  failed.cgroup = cgroup;
  failed.process = victim;
  failed.method = CaptureMethod::kAtKill;
  failed.trigger = "oom_kill";
  failed.result = CaptureResult::kFailed;
  return failed;
}

void GoHeaps::on_kill(const OomKill& kill, ProcessKey victim) {
  if (awaited_.contains(victim) || was_walked(victim)) return;
  const GoProcessPtr process = processes_.find(victim);
  if (process == nullptr) return;  // not Go as far as is known
  CaptureFinished failed = failure(kill.time, kill.victim_cgroup, victim);
  if (!process->target || !process->target->variables.buckets) {
    failed.reason = process->reason.empty() ? "not_found" : process->reason;
    failed.detail = process->detail;
    return deliver_(std::move(failed));
  }
  if (kernel_.go_heap() == nullptr) {
    failed.reason = "unsupported";
    failed.detail = why_unserved(kernel_);
    return deliver_(std::move(failed));
  }
  if (awaited_.size() >= kMaxAwaited) {
    failed.reason = "queue_full";
    failed.detail = "more victims at once than walks are waited for";
    return deliver_(std::move(failed));
  }
  failed.reason = "no_walk";
  failed.detail =
      "the dying process was not walked within 2 s: frozen, killed before the kernel knew where to look, or one of "
      "more than 128 victims at once";
  awaited_.emplace(victim, Awaited{std::move(failed), clock_.now() + kWalkWait});
}

bool GoHeaps::was_walked(ProcessKey victim) const {
  return std::find(walked_.begin(), walked_.end(), victim) != walked_.end();
}

void GoHeaps::on_walked(const HeapWalked& walk, CaptureScheduler& scheduler) {
  awaited_.erase(walk.process);
  if (was_walked(walk.process)) return;
  walked_.push_back(walk.process);
  if (walked_.size() > kMaxWalked) walked_.pop_front();
  // Looked up now: the registry keeps the dead for 10 s, and a storm's last walk may wait longer.
  const auto decode_it = [this, walk, taken = take(walk), process = processes_.find(walk.process)] {
    return decode(walk, taken.get(), process);
  };
  if (!scheduler.run_on(walkers_, decode_it)) refuse(walk);
}

// The walk was done and nobody can decode it: a result all the same, and its chunks go back.
void GoHeaps::refuse(const HeapWalked& walk) {
  (void)kernel_.go_heap()->take_chunks(walk, [](std::span<const std::byte>) {});
  CaptureFinished failed = failure(walk.time, walk.cgroup, walk.process);
  failed.reason = "queue_full";
  failed.detail = "too many walks wait to be decoded";
  deliver_(std::move(failed));
}

struct GoHeaps::Taken {
  MemoryBudget::Lease lease;
  std::vector<std::vector<std::byte>> chunks;
};

// At once, 3 ms for 20,000 stacks: decoding and naming them takes 100, and the pool holds two such
// walks (2 of 654 kills found it full while another's was being decoded). Null: no room; the worker
// takes it when its turn comes.
std::shared_ptr<GoHeaps::Taken> GoHeaps::take(const HeapWalked& walk) {
  auto lease = memory_.try_take(walk.bytes, kLeftByWalks);
  if (!lease) return nullptr;
  auto taken = std::make_shared<Taken>(Taken{std::move(*lease), {}});
  empty_pool_of(walk, [&taken](std::span<const std::byte> records) {
    taken->chunks.emplace_back(records.begin(), records.end());
  });
  return taken;
}

void GoHeaps::empty_pool_of(const HeapWalked& walk, const TakeChunk& take) const {
  const Result<> done = kernel_.go_heap()->take_chunks(walk, take);
  if (!done.has_value()) log::warn("walk of pid {}: {}", walk.process.pid, done.error().message);
}

// Walker thread. Only a reader that hangs keeps its room for longer than kRoomWait, and it does not
// grow any more: then this goes on without.
CaptureOutcome GoHeaps::decode(const HeapWalked& walk, Taken* taken, const GoProcessPtr& process) {
  const auto room = memory_.take(walk.bytes * kDecodedPerRecorded, kRoomWait);
  WalkDecoder decoder(walk, process);
  const auto add = [&decoder](std::span<const std::byte> records) { decoder.add(records); };
  if (taken == nullptr) {
    empty_pool_of(walk, add);
  } else {
    for (std::vector<std::byte>& chunk : taken->chunks) {
      add(chunk);
      chunk = {};
    }
    taken->lease.give_back();
  }
  return decoder.finish(clock_, snapshot_watcher_);
}

void GoHeaps::tick(CaptureScheduler& scheduler) {
  const MonotonicTime now = clock_.now();
  lookers_.relieve(now, kLookPatience);
  walkers_.relieve(now, kWalkPatience);
  if (now >= next_sweep_) {
    next_sweep_ = now + kSweep;
    (void)lookers_.post([this, now] { processes_.tick(now); });
  }
  if (GoHeap* walks = kernel_.go_heap()) {
    for (const HeapWalked& walk : walks->unreported(now)) on_walked(walk, scheduler);
  }
  for (auto it = awaited_.begin(); it != awaited_.end();) {
    if (it->second.due > now) {
      ++it;
      continue;
    }
    CaptureFinished failed = std::move(it->second.failed);
    it = awaited_.erase(it);
    failed.time = now;
    deliver_(std::move(failed));
  }
}

void GoHeaps::close() {
  lookers_.close();
  walkers_.close();
}

void GoHeaps::add_metrics(GoProcessMetrics& metrics) const {
  const GoProcessesCounters counters = processes_.counters();
  metrics.available = counters.available;
  metrics.linked_out = counters.linked_out;
  metrics.not_found = counters.not_found;
  CaptureMetrics::Histogram& delays = metrics.registration_seconds;
  for (const Nanoseconds bound : GoProcessesCounters::kDelayBounds) delays.bounds.push_back(to_seconds(bound));
  delays.counts.assign(counters.delays.begin(), counters.delays.end());
  delays.sum = to_seconds(counters.delay_sum);
}

LostCounts GoHeaps::lost() const {
  LostCounts lost;
  lost[LostStage::kGoLooks] = lost_looks_;
  lost[LostStage::kHungFiles] = lookers_.given_up() + walkers_.given_up();
  lost[LostStage::kGoProcesses] = processes_.counters().dropped;
  return lost;
}

}  // namespace oomw
