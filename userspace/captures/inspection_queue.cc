// SPDX-License-Identifier: Apache-2.0
#include "captures/inspection_queue.h"

#include <sys/resource.h>
#include <unistd.h>

#include <utility>

namespace oomw {
namespace {

// Programs of one container in a row: 3 ms where files are known. Where they are not, the others' turn comes after this
// time: 20 programs whose memory is searched for a list head held a worker for more than 3 s, and nothing of it was
// charged until the last was done.
constexpr std::size_t kBatch = 32;
constexpr Nanoseconds kTurn = std::chrono::milliseconds(50);

// The daemon runs at -10, which its threads inherit. Captures come first; still ahead of workloads, since a program
// that is killed soon after its exec must be known by then.
constexpr int kNice = -5;

void step_behind_captures() {
  const auto thread = static_cast<id_t>(::gettid());
  if (::getpriority(PRIO_PROCESS, thread) < kNice) (void)::setpriority(PRIO_PROCESS, thread, kNice);
}

}  // namespace

InspectionQueue::InspectionQueue(WorkerPool& workers, std::size_t threads, Nanoseconds patience, const Clock& clock,
                                 Inspect inspect)
    : workers_(workers),
      clock_(clock),
      inspect_(std::move(inspect)),
      queue_({.workers = threads,
              .allowed = kSecondsOfOne,
              .patience = patience,
              .waiting = kMaxWaiting,
              .waiting_of_one = 1}) {}

bool InspectionQueue::add(const ShareOwner& owner, ProcessKey process, std::optional<MonotonicTime> exec_time) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = pending_.find(owner);
    const std::size_t mine = known == pending_.end() ? 0 : known->second.programs.size();
    if (waiting_ >= kMaxWaiting || mine >= kMaxWaitingOfOne) {
      over_share_.note(owner);
      return false;
    }
    Pending& pending = pending_[owner];
    pending.programs.push_back({process, exec_time});
    ++waiting_;
    if (pending.has_job || !queue_locked(owner, pending)) return true;
  }
  return workers_.post([this] { run(); });
}

// False: it rests.
bool InspectionQueue::queue_locked(const ShareOwner& owner, Pending& pending) {
  const std::uint64_t job = ++last_job_;
  pending.has_job = queue_.add(job, owner, clock_.now()) == FairQueue::Added::kYes;
  if (pending.has_job) jobs_[job] = owner;
  return pending.has_job;
}

// Until nothing can go on. What another worker's end makes possible is that worker's to take.
void InspectionQueue::run() {
  step_behind_captures();
  std::unique_lock lock(mutex_);
  while (const auto job = queue_.next(clock_.now())) {
    const ShareOwner owner = jobs_.extract(*job).mapped();
    std::deque<Waiting>& programs = pending_[owner].programs;
    const MonotonicTime begun = clock_.now();
    MonotonicTime now = begun;
    for (std::size_t done = 0; !programs.empty() && done < kBatch && now - begun < kTurn; ++done) {
      const Waiting program = programs.front();
      programs.pop_front();
      --waiting_;
      lock.unlock();
      inspect_(program.process, program.exec_time);
      now = clock_.now();
      lock.lock();
    }
    queue_.ended(*job, now - begun, now);
    const auto pending = pending_.find(owner);
    pending->second.has_job = false;
    if (pending->second.programs.empty()) {
      pending_.erase(pending);
    } else {
      (void)queue_locked(owner, pending->second);
    }
  }
}

void InspectionQueue::tick() {
  {
    const std::lock_guard lock(mutex_);
    for (auto& [owner, pending] : pending_) {
      if (!pending.has_job) (void)queue_locked(owner, pending);
    }
    if (queue_.waiting() == 0) return;
  }
  (void)workers_.post([this] { run(); });  // also takes over from a worker that hangs
}

ShareExcess InspectionQueue::over_share() const {
  const std::lock_guard lock(mutex_);
  ShareExcess excess = over_share_;
  const ShareExcess& rested = queue_.rested();
  if (rested.count > 0) excess.last = rested.last;
  excess.count += rested.count;
  return excess;
}

}  // namespace oomw
