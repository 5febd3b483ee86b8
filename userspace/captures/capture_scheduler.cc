// SPDX-License-Identifier: Apache-2.0
#include "captures/capture_scheduler.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxTargets = 8;
// Looked at to choose the targets from; a pod rarely has more processes than this.
constexpr std::size_t kMaxCandidates = 256;

CaptureTarget target_of(const ProcessState& process) {
  return {process.key, process.cgroup, process.comm, process.exe};
}

// Of the processes that share the limit, the likely culprit first: who crossed, who shares its
// cgroup, whom the kernel would rather kill, and then the oldest: the service itself, not a probe.
std::vector<CaptureTarget> choose_targets(const WatermarkCrossed& crossing, const MemoryModel& model) {
  auto candidates = model.processes_under(crossing.cgroup, kMaxCandidates);
  const auto rank = [&](const ProcessState* p) {
    return std::tuple(p->key.pid != crossing.pid, p->cgroup != crossing.leaf_cgroup, -p->oom_score_adj.value_or(0),
                      p->key.start_ticks, p->key.pid);
  };
  std::sort(candidates.begin(), candidates.end(), [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
  std::vector<CaptureTarget> targets;
  const bool is_known = !candidates.empty() && candidates.front()->key.pid == crossing.pid;
  if (crossing.pid != 0 && !is_known) targets.push_back({{crossing.pid, 0}, crossing.leaf_cgroup, "", ""});
  for (const ProcessState* process : candidates) {
    if (targets.size() == kMaxTargets) break;
    targets.push_back(target_of(*process));
  }
  return targets;
}

CaptureFinished event_of(const CaptureRequest& request) {
  CaptureFinished event;
  event.time = event.started = request.requested;
  event.capture_id = request.capture_id;
  event.cgroup = request.cgroup;
  if (!request.targets.empty()) event.process = request.targets.front().process;
  event.trigger = request.trigger;
  event.usage_bytes = request.usage_bytes;
  event.limit_bytes = request.limit_bytes;
  return event;
}

}  // namespace

CaptureScheduler::CaptureScheduler(EventLoop& loop, WorkerPool& workers, CaptureBackend& backend, Spool& spool,
                                   const Clock& clock, Nanoseconds timeout, Deliver deliver)
    : loop_(loop),
      workers_(workers),
      backend_(backend),
      spool_(spool),
      clock_(clock),
      timeout_(timeout),
      deliver_(std::move(deliver)) {}

void CaptureScheduler::on_decision(const TriggerDecision& decision, const WatermarkCrossed& crossing,
                                   const MemoryModel& model) {
  deliver_done();
  if (decision.action == TriggerAction::kNone) return;
  CaptureRequest request = make_request(decision, crossing, model);
  if (decision.action == TriggerAction::kPrepare) return prepare(std::move(request));
  if (decision.action == TriggerAction::kSkip) return skip(request, decision.reason);
  if (busy_.contains(request.cgroup)) return wait_for_running(std::move(request));
  start(std::move(request));
}

CaptureRequest CaptureScheduler::make_request(const TriggerDecision& decision, const WatermarkCrossed& crossing,
                                              const MemoryModel& model) {
  CaptureRequest request;
  request.capture_id = decision.action == TriggerAction::kPrepare ? 0 : next_id_++;
  request.cgroup = crossing.cgroup;
  if (decision.action != TriggerAction::kSkip) request.targets = choose_targets(crossing, model);
  request.trigger = decision.trigger;
  request.requested = clock_.now();
  request.deadline = request.requested + timeout_;
  request.usage_bytes = crossing.usage_bytes;
  request.limit_bytes = crossing.limit_bytes;
  return request;
}

void CaptureScheduler::prepare(CaptureRequest request) {
  // A full queue loses nothing but time: capture() resolves what was not prepared.
  (void)workers_.post([this, request = std::move(request)] { backend_.prepare(request); });
}

void CaptureScheduler::start(CaptureRequest request) {
  busy_[request.cgroup].capture_id = request.capture_id;
  if (workers_.post([this, request] { run(request); })) return;
  busy_.erase(request.cgroup);
  skip(request, "queue_full");
}

void CaptureScheduler::wait_for_running(CaptureRequest request) {
  std::optional<CaptureRequest> overtaken = std::exchange(busy_[request.cgroup].next, std::move(request));
  if (overtaken) skip(*overtaken, "busy");
}

void CaptureScheduler::start_waiting(CaptureRequest request) {
  if (clock_.now() - request.requested > kMaxWait) return skip(request, "busy");
  start(std::move(request));
}

void CaptureScheduler::skip(const CaptureRequest& request, std::string reason) {
  CaptureFinished event = event_of(request);
  event.result = CaptureResult::kSkipped;
  event.reason = std::move(reason);
  deliver_(std::move(event));
}

void CaptureScheduler::run(const CaptureRequest& request) {
  // Waiting in the queue is not the endpoint's fault: it gets its whole time from here on.
  CaptureRequest begun = request;
  begun.deadline = clock_.now() + timeout_;
  CaptureOutcome outcome = backend_.capture(begun);
  CaptureFinished& event = outcome.finished;
  if (!outcome.profile.empty()) {
    auto name = spool_.put(request.capture_id, to_string(event.method), std::move(outcome.profile));
    if (name) {
      event.spool_file = std::move(*name);
    } else {
      event.result = CaptureResult::kFailed;
      event.reason = "no_space";
      event.detail += "; lost: " + name.error().message;
      event.complete = false;
    }
  }
  {
    const std::lock_guard lock(done_mutex_);
    done_.push_back(std::move(event));
  }
  // If the loop's queue is full, the next decision or capture brings this one along.
  (void)loop_.post([this] { deliver_done(); });
}

void CaptureScheduler::deliver_done() {
  std::vector<CaptureFinished> done;
  {
    const std::lock_guard lock(done_mutex_);
    done.swap(done_);
  }
  for (auto& event : done) {
    std::optional<CaptureRequest> next;
    const auto running = busy_.find(event.cgroup);
    if (running != busy_.end() && running->second.capture_id == event.capture_id) {
      next = std::move(running->second.next);
      busy_.erase(running);
    }
    if (next) start_waiting(std::move(*next));
    deliver_(std::move(event));
  }
}

}  // namespace oomw
