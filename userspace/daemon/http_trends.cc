// SPDX-License-Identifier: Apache-2.0
#include "daemon/http_trends.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/thread_cpu.h"
#include "captures/profile_snapshot.h"
#include "goruntime/process_image.h"
#include "pprof/codec.h"
#include "triggers/jitter.h"

namespace oomw {
namespace {

constexpr Nanoseconds kList = std::chrono::seconds(5);
// A profile inflates to 8 times its size and takes twice that again once parsed, see HttpCapture.
constexpr std::uint64_t kTimesBody = 24;
constexpr std::uint64_t kMostToParse = 64u << 20;
constexpr pprof::ReadLimits kLimits = {.max_inflated_bytes = 32u << 20, .max_items = 400'000};  // as heap_check.cc
constexpr Nanoseconds kLost = std::chrono::minutes(1);

// 0 where it does not matter (the program is not position-independent) or cannot be told: addresses stay those of
// the process, which are the same for as long as it lives.
std::uint64_t bias_of(const GoProcess& process) {
  const auto image = goruntime::read_process_image(process.key.pid);
  if (!image.has_value()) return 0;
  return goruntime::load_bias(*image, *process.binary).value_or(0);
}

}  // namespace

HttpTrends::HttpTrends(EventLoop& loop, GoProcesses& processes, const Clock& clock, MemoryBudget& memory,
                       CaptureBackend& http, WorkerPool& workers, HeapTrends& trends, Config config, TargetOf target_of)
    : loop_(loop),
      processes_(processes),
      clock_(clock),
      memory_(memory),
      http_(http),
      workers_(workers),
      trends_(trends),
      config_(config),
      target_of_(std::move(target_of)) {}

void HttpTrends::list_processes(MonotonicTime now) {
  next_list_ = now + kList;
  std::map<ProcessKey, Entry> entries;
  for (GoProcessPtr& process : processes_.unreadable()) {
    const auto known = entries_.find(process->key);
    const MonotonicTime due =
        known != entries_.end() ? known->second.due : now + scaled(kFirstRound, phase_of(process->key));
    const ProcessKey key = process->key;
    entries.emplace(key, Entry{std::move(process), due});
  }
  entries_ = std::move(entries);
}

void HttpTrends::tick(bool is_busy) {
  const MonotonicTime now = clock_.now();
  if (now >= next_list_) list_processes(now);
  const bool is_asking = asking_until_ && now < *asking_until_;
  if (is_busy || is_asking || now < not_before_ || entries_.empty()) return;
  const auto next = std::ranges::min_element(entries_, {}, [](const auto& entry) { return entry.second.due; });
  Entry& entry = next->second;
  if (entry.due > now) return;
  entry.due = now + jittered(config_.interval, next->first);
  if (auto target = target_of_(next->first)) ask(entry.process, std::move(*target), now);
}

void HttpTrends::ask(GoProcessPtr process, CaptureTarget target, MonotonicTime now) {
  CaptureRequest request;
  request.cgroup = target.cgroup;
  request.targets = {std::move(target)};
  request.trigger = "trend";
  request.requested = now;
  request.deadline = now + config_.timeout;
  const bool is_posted = workers_.post([this, process = std::move(process), request = std::move(request)] {
    const Nanoseconds before = thread_cpu();
    std::string result = "http_" + take(*process, request);
    const Nanoseconds cost = thread_cpu() - before;
    (void)loop_.post([this, result = std::move(result), cost] { finish(result, cost); });
  });
  if (!is_posted) return trends_.count("http_queue_full");
  asking_until_ = now + config_.timeout + kLost;
}

std::string HttpTrends::take(const GoProcess& process, const CaptureRequest& request) {
  const CaptureOutcome outcome = http_.capture(request);
  if (outcome.finished.result != CaptureResult::kOk) return outcome.finished.reason;
  const auto room =
      memory_.try_take(std::min(outcome.profile.size() * kTimesBody, kMostToParse), HeapTrends::kLeftForCaptures);
  if (!room) return "no_memory";
  const auto profile = pprof::read(outcome.profile, kLimits);
  if (!profile.has_value()) return "not_a_profile";
  const auto snapshot = snapshot_of_profile(*profile, bias_of(process));
  if (!snapshot.has_value()) return "not_a_profile";
  trends_.add(process, *snapshot, outcome.finished.time, ReadingOrigin::kHttp);
  return "ok";
}

void HttpTrends::finish(const std::string& result, Nanoseconds cost) {
  asking_until_.reset();
  not_before_ = clock_.now() + scaled(cost, 1 / kMaxCoreShare);
  trends_.count(result);
}

}  // namespace oomw
