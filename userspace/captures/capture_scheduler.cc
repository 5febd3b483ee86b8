// SPDX-License-Identifier: Apache-2.0
#include "captures/capture_scheduler.h"

#include <algorithm>
#include <tuple>

#include "base/patience.h"
#include "captures/capture_event.h"
#include "model/pod_annotations.h"
#include "model/share_owner.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxTargets = 8;
// How many are considered when choosing the targets; a pod rarely has more processes than this.
constexpr std::size_t kMaxCandidates = 256;

CaptureTarget target_of(const ProcessState& process, const MemoryModel& model) {
  return {process.key, process.cgroup, process.comm, process.exe, annotated_pprof_port(process.cgroup, model)};
}

// The processes that share the limit, the likely culprit first: the process that crossed, those in its cgroup, those
// the kernel would rather kill, then the oldest: the service itself, not a probe. A limit above several pods
// (kubepods') has targets in all of them: the settings of each pod decide for that pod.
std::vector<CaptureTarget> choose_targets(const WatermarkCrossed& crossing, const MemoryModel& model, bool is_opt_in) {
  auto candidates = model.processes_under(crossing.cgroup, kMaxCandidates);
  const auto rank = [&](const ProcessState* p) {
    return std::tuple(p->key.pid != crossing.pid, p->cgroup != crossing.leaf_cgroup, -p->oom_score_adj.value_or(0),
                      p->key.start_ticks, p->key.pid);
  };
  std::sort(candidates.begin(), candidates.end(), [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
  const auto is_left_alone = [&](CgroupId cgroup) {
    return why_left_alone(cgroup, model, is_opt_in) != CaptureReason::kNone;
  };
  std::vector<CaptureTarget> targets;
  const bool is_known = !candidates.empty() && candidates.front()->key.pid == crossing.pid;
  if (crossing.pid != 0 && !is_known && !is_left_alone(crossing.leaf_cgroup)) {
    const auto port = annotated_pprof_port(crossing.leaf_cgroup, model);
    targets.push_back({{crossing.pid, 0}, crossing.leaf_cgroup, "", "", port});
  }
  for (const ProcessState* process : candidates) {
    if (targets.size() == kMaxTargets) break;
    if (is_left_alone(process->cgroup)) continue;
    targets.push_back(target_of(*process, model));
  }
  return targets;
}

}  // namespace

CaptureScheduler::CaptureScheduler(EventLoop& loop, std::vector<CaptureLane> lanes, Spool& spool, const Clock& clock,
                                   Deliver deliver, bool is_opt_in)
    : loop_(loop),
      lanes_(std::move(lanes)),
      spool_(spool),
      clock_(clock),
      deliver_(std::move(deliver)),
      is_opt_in_(is_opt_in) {}

void CaptureScheduler::on_decision(const TriggerDecision& decision, const WatermarkCrossed& crossing,
                                   const MemoryModel& model) {
  deliver_done();
  if (decision.action == TriggerAction::kNone) return;
  const CaptureRequest request = make_request(decision, crossing, model);
  for (const CaptureLane& lane : lanes_) ask(lane, request, decision);
}

void CaptureScheduler::ask(const CaptureLane& lane, CaptureRequest request, const TriggerDecision& decision) {
  if (decision.action == TriggerAction::kPrepare) return prepare(lane, request);
  request.capture_id = next_id_++;
  request.deadline = request.requested + lane.timeout;
  if (decision.action == TriggerAction::kSkip) return skip(lane, request, decision.reason);
  if (!decision.may_allocate && lane.method == CaptureMethod::kHttp)
    return skip(lane, request, CaptureReason::kHeadroom);
  if (busy_.contains({request.cgroup, &lane})) return wait_for_running(lane, std::move(request));
  start(lane, std::move(request));
}

CaptureRequest CaptureScheduler::make_request(const TriggerDecision& decision, const WatermarkCrossed& crossing,
                                              const MemoryModel& model) const {
  CaptureRequest request;
  request.cgroup = crossing.cgroup;
  if (decision.action != TriggerAction::kSkip) request.targets = choose_targets(crossing, model, is_opt_in_);
  request.trigger = decision.trigger;
  request.requested = clock_.now();
  request.usage_bytes = crossing.usage_bytes;
  request.limit_bytes = crossing.limit_bytes;
  request.owner = share_owner_of(crossing.leaf_cgroup ? crossing.leaf_cgroup : crossing.cgroup, model);
  return request;
}

CaptureScheduler::Work& CaptureScheduler::work_of(const CaptureLane& lane) {
  const FairQueue::Limits limits{.workers = lane.slots, .patience = lane.timeout + patient(kPatience)};
  return work_.try_emplace(&lane, Work{lane.workers, FairQueue(limits), {}}).first->second;
}

FairQueue::Added CaptureScheduler::add(Work& work, std::uint64_t job, const ShareOwner& owner, Task task) {
  const FairQueue::Added added = work.queue.add(job, owner, clock_.now());
  if (added == FairQueue::Added::kYes) work.waiting[job] = std::move(task);
  return added;
}

void CaptureScheduler::run_next(Work& work) {
  while (const auto job = work.queue.next(clock_.now())) {
    const auto taken = work.waiting.extract(*job);
    const bool is_posted = work.workers->post([this, job = *job, run = taken.mapped().run] {
      const MonotonicTime begun = clock_.now();
      std::optional<CaptureFinished> event = run();
      finish({job, clock_.now() - begun, std::move(event)});
    });
    if (is_posted) continue;
    work.queue.ended(*job, {}, clock_.now());
    if (taken.mapped().refused) taken.mapped().refused();
  }
}

void CaptureScheduler::tick() {
  deliver_done();
  for (auto& [key, work] : work_) run_next(work);
}

void CaptureScheduler::prepare(const CaptureLane& lane, const CaptureRequest& request) {
  Work& work = work_of(lane);
  if (work.queue.has_any_of(request.owner)) return;
  const auto run = [&lane, request]() -> std::optional<CaptureFinished> {
    lane.backend->prepare(request);
    return std::nullopt;
  };
  if (add(work, next_preparation_++, request.owner, {run, {}}) == FairQueue::Added::kYes) run_next(work);
}

void CaptureScheduler::start(const CaptureLane& lane, CaptureRequest request) {
  busy_[{request.cgroup, &lane}].capture_id = request.capture_id;
  const auto refuse = [this, &lane, request](CaptureReason reason) {
    skip(lane, request, reason);
    release(request.capture_id);
  };
  const Task task{[this, &lane, request] { return std::optional(run(lane, request)); },
                  [refuse] { refuse(CaptureReason::kQueueFull); }};
  Work& work = work_of(lane);
  switch (add(work, request.capture_id, request.owner, task)) {
    case FairQueue::Added::kYes:
      return run_next(work);
    case FairQueue::Added::kRests:
      return refuse(CaptureReason::kBudget);
    case FairQueue::Added::kFull:
      return refuse(CaptureReason::kQueueFull);
  }
}

void CaptureScheduler::wait_for_running(const CaptureLane& lane, CaptureRequest request) {
  Running& running = busy_[{request.cgroup, &lane}];
  std::optional<CaptureRequest> overtaken = std::exchange(running.next, std::move(request));
  if (overtaken) skip(lane, *overtaken, CaptureReason::kBusy);
}

void CaptureScheduler::start_waiting(const CaptureLane& lane, CaptureRequest request) {
  if (clock_.now() - request.requested > kMaxWait) return skip(lane, request, CaptureReason::kBusy);
  start(lane, std::move(request));
}

void CaptureScheduler::skip(const CaptureLane& lane, const CaptureRequest& request, CaptureReason reason) {
  deliver_(not_taken(begin_capture(request, lane.method, request.requested), request.requested, {reason, ""}));
}

CaptureFinished CaptureScheduler::run(const CaptureLane& lane, const CaptureRequest& request) {
  // The wait in the queue is not the target's fault: it gets its whole time from here on.
  CaptureRequest begun = request;
  begun.deadline = clock_.now() + lane.timeout;
  return store(request.capture_id, request.owner, lane.backend->capture(begun));
}

bool CaptureScheduler::run_on(WorkerPool& workers, ShareOwner owner, std::function<CaptureOutcome()> take) {
  const FairQueue::Limits limits{.workers = 1,
                                 .allowed = patient(kWalkPatience),
                                 .patience = patient(kWalkPatience),
                                 .waiting = kMaxWalks,
                                 .waiting_of_one = kMaxWalksOfOne};
  Work& work = work_.try_emplace(&workers, Work{&workers, FairQueue(limits), {}}).first->second;
  const std::uint64_t capture_id = next_id_++;
  const auto run = [this, capture_id, owner, take = std::move(take)] {
    return std::optional(store(capture_id, owner, take()));
  };
  if (add(work, capture_id, owner, {run, {}}) != FairQueue::Added::kYes) return false;
  run_next(work);
  return true;
}

CaptureFinished CaptureScheduler::store(std::uint64_t capture_id, const ShareOwner& owner, CaptureOutcome outcome) {
  CaptureFinished& event = outcome.finished;
  event.capture_id = capture_id;
  if (!outcome.has_profile()) return std::move(event);
  auto name = spool_.put(capture_id, to_string(event.method),
                         {std::move(outcome.profile), std::move(outcome.profile_file), outcome.string_count}, owner);
  if (name) {
    event.spool_file = std::move(*name);
  } else {
    event.result = CaptureResult::kFailed;
    event.reason = CaptureReason::kNoSpace;
    event.detail += "; lost: " + name.error().message;
    event.complete = false;
  }
  return std::move(event);
}

void CaptureScheduler::finish(Done done) {
  {
    const std::lock_guard lock(done_mutex_);
    done_.push_back(std::move(done));
  }
  // If the loop's queue is full, the next decision or capture delivers this one too.
  (void)loop_.post([this] { deliver_done(); });
}

// Frees the place of a capture that ended, for the request that waited for it.
void CaptureScheduler::release(std::uint64_t capture_id) {
  const auto ended =
      std::find_if(busy_.begin(), busy_.end(), [&](const auto& b) { return b.second.capture_id == capture_id; });
  if (ended == busy_.end()) return;
  auto place = busy_.extract(ended);
  std::optional<CaptureRequest>& next = place.mapped().next;
  if (next) start_waiting(*place.key().second, std::move(*next));
}

void CaptureScheduler::deliver_done() {
  std::vector<Done> done;
  {
    const std::lock_guard lock(done_mutex_);
    done.swap(done_);
  }
  if (done.empty()) return;
  for (const Done& ended : done) {
    for (auto& [key, work] : work_) work.queue.ended(ended.job, ended.cost, clock_.now());
  }
  for (Done& ended : done) {
    if (!ended.event) continue;
    release(ended.job);
    deliver_(std::move(*ended.event));
  }
  for (auto& [key, work] : work_) run_next(work);
}

void CaptureScheduler::add_excesses(ShareExcesses& excesses) const {
  const auto add = [](ShareExcess& sum, const ShareExcess& one) {
    sum.count += one.count;
    if (one.count > 0) sum.last = one.last;
  };
  for (const auto& [key, work] : work_) {
    add(excesses[ShareKind::kCaptures], work.queue.refused());
    add(excesses[ShareKind::kCaptureSeconds], work.queue.rested());
  }
}

}  // namespace oomw
