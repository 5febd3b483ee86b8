// SPDX-License-Identifier: Apache-2.0
#include "captures/collector_watch.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/proc_stat.h"
#include "base/victim_marks.h"
#include "captures/collector_metrics.h"
#include "captures/endpoint_fetch.h"

namespace oomw {
namespace {

// A process's CPU time as the kernel counts it, in seconds; with what it waited for disks, if the kernel counts that,
// because Collectors add it.
struct CpuTime {
  double used = 0, with_waits = 0;
};

std::optional<CpuTime> cpu_time_of(const TargetProcess& process) {
  constexpr std::size_t kUser = 14, kSystem = 15, kDiskWait = 42;  // fields of proc_pid_stat(5)
  if (!may_hold_memory_of(process.key().pid)) return std::nullopt;
  const auto text = read_prefix_at(process.dir_fd(), "stat", ProcStat::kMaxBytes);
  if (!text) return std::nullopt;
  const ProcStat stat(*text);
  const auto user = stat.field(kUser), system = stat.field(kSystem), wait = stat.field(kDiskWait);
  if (!user || !system || !wait) return std::nullopt;
  const auto per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto used = static_cast<double>(*user + *system);
  return CpuTime{used / per_second, (used + static_cast<double>(*wait)) / per_second};
}

bool is_its_own(std::string_view metrics, const std::optional<CpuTime>& before, const std::optional<CpuTime>& after) {
  constexpr double kRounding = 0.02;  // two of the kernel's ticks
  const auto reported = collector_cpu_seconds(metrics);
  return reported && before && after && *reported >= before->used - kRounding &&
         *reported <= after->with_waits + kRounding;
}

}  // namespace

CollectorWatch::CollectorWatch(CaptureBackend& heap, WorkerPool& workers, CollectorConfig config, const Clock& clock,
                               Deliver deliver, MemoryBudget* memory, IsCollector is_collector)
    : heap_(heap),
      workers_(workers),
      config_(std::move(config)),
      clock_(clock),
      deliver_(std::move(deliver)),
      memory_(memory),
      is_collector_(std::move(is_collector)) {}

CaptureOutcome CollectorWatch::capture(const CaptureRequest& request) {
  CaptureOutcome outcome = heap_.capture(request);
  read_later(request);
  return outcome;
}

void CollectorWatch::prepare(const CaptureRequest& request) {
  heap_.prepare(request);
  read(request.targets);
}

void CollectorWatch::forget(ProcessKey process) {
  cache_.forget(process);
  heap_.forget(process);
  const std::lock_guard lock(mutex_);
  in_vain_.erase(process);
}

void CollectorWatch::read_later(const CaptureRequest& request) {
  if (config_.ports.empty()) return;
  if (!begin_reading(request.owner)) {
    ++dropped_;
    return;
  }
  const bool is_posted = workers_.post([this, targets = request.targets, owner = request.owner] {
    const MonotonicTime begun = clock_.now();
    read(targets);
    end_reading(owner, clock_.now() - begun);
  });
  if (is_posted) return;
  ++dropped_;
  end_reading(request.owner, Nanoseconds::zero());
}

bool CollectorWatch::begin_reading(const ShareOwner& owner) {
  const MonotonicTime now = clock_.now();
  const std::lock_guard lock(mutex_);
  if (accounts_.size() >= kMaxAccounts && !accounts_.contains(owner)) {
    std::erase_if(accounts_,
                  [&](const auto& entry) { return !entry.second.is_reading && entry.second.cost.is_idle(now); });
    if (accounts_.size() >= kMaxAccounts) return false;
  }
  Account& account = accounts_[owner];
  if (account.is_reading || !account.cost.may_go(now)) return false;
  return account.is_reading = true;
}

void CollectorWatch::end_reading(const ShareOwner& owner, Nanoseconds cost) {
  const std::lock_guard lock(mutex_);
  Account& account = accounts_[owner];
  account.is_reading = false;
  account.cost.charge(cost, kSecondsOfOne, clock_.now());
}

// Reads the first that is a Collector: of the processes that share a limit, rarely more than one is.
void CollectorWatch::read(const std::vector<CaptureTarget>& targets) {
  if (config_.ports.empty()) return;
  const MonotonicTime deadline = clock_.now() + config_.timeout;
  for (const CaptureTarget& target : targets) {
    if (clock_.now() >= deadline) return;
    auto reading = read_target(target, deadline);
    if (!reading) continue;
    if (!deliver_(std::move(*reading))) ++dropped_;
    return;
  }
}

std::optional<CollectorSampled> CollectorWatch::read_target(const CaptureTarget& target, MonotonicTime deadline) {
  const auto process = TargetProcess::open(config_.proc_root, target.process);
  if (!process) return std::nullopt;
  std::vector<PprofEndpoint> endpoints = endpoints_of(*process);
  const auto was_in_vain = [&](const PprofEndpoint& endpoint) { return !may_ask(*process, endpoint); };
  const bool is_used_up = std::erase_if(endpoints, was_in_vain) > 0 && endpoints.empty();
  if (is_used_up) cache_.put(process->key(), {}, clock_.now());  // it may open another
  for (const PprofEndpoint& endpoint : endpoints) {
    const MonotonicTime now = clock_.now();
    // Half of what is left, so that one that hangs leaves time for the next; the last gets all.
    const bool is_last = &endpoint == &endpoints.back();
    auto reading = ask(*process, endpoint, is_last ? deadline : now + (deadline - now) / 2);
    if (!reading) continue;
    cache_.put(process->key(), {endpoint}, clock_.now());
    reading->cgroup = target.cgroup;
    return reading;
  }
  return std::nullopt;
}

std::vector<PprofEndpoint> CollectorWatch::endpoints_of(const TargetProcess& process) {
  if (auto known = cache_.find(process.key(), clock_.now())) return std::move(*known);
  const bool is_collector = is_collector_ && is_collector_(process.key());
  const auto found = is_collector ? find_all_endpoints(process, config_.ports) : find_endpoints(process, config_.ports);
  cache_.put(process.key(), found.value_or(std::vector<PprofEndpoint>{}), clock_.now());
  return found.value_or(std::vector<PprofEndpoint>{});
}

bool CollectorWatch::is_configured(const PprofEndpoint& endpoint) const {
  return std::ranges::find(config_.ports, endpoint.port) != config_.ports.end();
}

bool CollectorWatch::may_ask(const TargetProcess& process, const PprofEndpoint& endpoint) {
  if (is_configured(endpoint)) return true;
  const std::lock_guard lock(mutex_);
  const auto known = in_vain_.find(process.key());
  if (known == in_vain_.end()) return true;
  const auto listener = known->second.find(endpoint.socket_inode);
  return listener == known->second.end() ? known->second.size() < kMaxListeners : listener->second < kMaxSlowAsks;
}

void CollectorWatch::note_in_vain(const TargetProcess& process, const PprofEndpoint& endpoint, FetchStatus status) {
  // Nothing was sent.
  if (status == FetchStatus::kRefused || status == FetchStatus::kVetoed || status == FetchStatus::kNetns) return;
  const std::lock_guard lock(mutex_);
  if (in_vain_.size() >= kMaxAccounts && !in_vain_.contains(process.key())) in_vain_.erase(in_vain_.begin());
  in_vain_[process.key()][endpoint.socket_inode] += status == FetchStatus::kTimeout ? 1 : kMaxSlowAsks;
}

std::optional<CollectorSampled> CollectorWatch::ask(const TargetProcess& process, const PprofEndpoint& endpoint,
                                                    MonotonicTime deadline) {
  constexpr std::uint64_t kTimesBody = 2;  // a string that grows holds its old bytes and its new ones
  if (clock_.now() >= deadline) return std::nullopt;
  const std::uint64_t bytes = config_.max_body_bytes * kTimesBody;
  const auto room = memory_ != nullptr ? memory_->take(bytes, deadline - clock_.now()) : std::nullopt;
  if (memory_ != nullptr && !room) {
    ++dropped_;
    return std::nullopt;
  }
  const Nanoseconds left = deadline - clock_.now();
  const bool is_to_be_proved = !is_configured(endpoint);
  const auto before = is_to_be_proved ? cpu_time_of(process) : std::nullopt;
  const FetchResult answer = fetch_endpoint(process, endpoint, config_.path, left, config_.max_body_bytes);
  if (answer.status == FetchStatus::kVetoed) cache_.forget(process.key());  // resolved again next time
  auto reading = answer.status == FetchStatus::kOk ? collector_figures_of(answer.body) : std::nullopt;
  if (is_to_be_proved) {
    if (reading && !is_its_own(answer.body, before, cpu_time_of(process))) reading.reset();
    if (!reading) note_in_vain(process, endpoint, answer.status);
  }
  if (!reading) return std::nullopt;
  reading->time = clock_.now();
  reading->process = process.key();
  return reading;
}

}  // namespace oomw
