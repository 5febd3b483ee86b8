// SPDX-License-Identifier: Apache-2.0
#include "captures/collector_watch.h"

#include <utility>

#include "captures/collector_metrics.h"
#include "captures/endpoint_fetch.h"

namespace oomw {

CollectorWatch::CollectorWatch(CaptureBackend& heap, WorkerPool& workers, CollectorConfig config, const Clock& clock,
                               Deliver deliver, MemoryBudget* memory)
    : heap_(heap),
      workers_(workers),
      config_(std::move(config)),
      clock_(clock),
      deliver_(std::move(deliver)),
      memory_(memory) {}

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
  auto endpoints = cache_.find(process->key(), clock_.now());
  if (!endpoints) {
    const auto found = find_endpoints(*process, config_.ports);
    endpoints = found.value_or(std::vector<PprofEndpoint>{});
    cache_.put(process->key(), *endpoints, clock_.now());
  }
  for (const PprofEndpoint& endpoint : *endpoints) {
    auto reading = ask(*process, endpoint, deadline);
    if (!reading) continue;
    reading->cgroup = target.cgroup;
    return reading;
  }
  return std::nullopt;
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
  const FetchResult answer = fetch_endpoint(process, endpoint, config_.path, left, config_.max_body_bytes);
  if (answer.status == FetchStatus::kVetoed) cache_.forget(process.key());  // resolved again next time
  if (answer.status != FetchStatus::kOk) return std::nullopt;
  auto reading = collector_figures_of(answer.body);
  if (!reading) return std::nullopt;
  reading->time = clock_.now();
  reading->process = process.key();
  return reading;
}

}  // namespace oomw
