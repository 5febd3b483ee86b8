// SPDX-License-Identifier: Apache-2.0
#include "analyses/heap_analyses.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "analyses/analysis_job.h"
#include "analyses/analysis_wire.h"
#include "analyses/stalled_connections.h"
#include "base/files.h"
#include "base/patience.h"
#include "base/text.h"
#include "base/victim_marks.h"

namespace oomw {
namespace {

constexpr Nanoseconds kLongest = std::chrono::hours(24);        // of a time to the limit that matters
constexpr Nanoseconds kCountersTime = std::chrono::seconds(2);  // 32 KiB

std::uint32_t percent_of(const CaptureRequest& request) {
  if (request.trigger.kind == CaptureTrigger::Kind::kWatermark) return request.trigger.level_percent;
  const std::uint64_t limit = request.limit_bytes.value_or(0);
  if (limit == 0) return 0;
  return static_cast<std::uint32_t>(static_cast<double>(request.usage_bytes.value_or(0)) * 100 /
                                    static_cast<double>(limit));
}

// Pages in memory, by /proc/PID/statm; 0: gone.
std::uint64_t resident_pages(const std::string& proc_root, ProcessKey process) {
  if (VictimMarks::has(process.pid)) return 0;
  const auto text = read_file(proc_root + "/" + std::to_string(process.pid) + "/statm", 256);
  if (!text) return 0;
  const auto fields = split(*text, ' ');
  return fields.size() > 1 ? parse_u64(fields[1]).value_or(0) : 0;
}

HeapAnalysed begun(const CaptureRequest& request, ProcessKey process, RuntimeKind of, MonotonicTime now) {
  HeapAnalysed event;
  event.time = event.started = now;
  event.process = process;
  event.cgroup = request.cgroup;
  event.of = of;
  event.trigger = request.trigger;
  event.usage_bytes = request.usage_bytes;
  event.limit_bytes = request.limit_bytes;
  return event;
}

HeapAnalysed failed(HeapAnalysed event, CaptureFailure failure, MonotonicTime now) {
  event.time = now;
  event.result = CaptureResult::kFailed;
  event.reason = failure.reason;
  event.detail = printable(failure.detail, HeapAnalysed::kMaxText);
  return event;
}

// The reader knows nothing of the request, so what it says about that does not count.
HeapAnalysed succeeded(HeapAnalysed event, HeapAnalysed found, MonotonicTime now) {
  found.started = event.started;
  found.time = now;
  found.process = event.process;
  found.cgroup = event.cgroup;
  found.of = event.of;
  found.trigger = event.trigger;
  found.usage_bytes = event.usage_bytes;
  found.limit_bytes = event.limit_bytes;
  found.result = CaptureResult::kOk;
  found.reason = CaptureReason::kNone;
  return found;
}

// What an exporter keeps, and what its senders hold, waits for somebody who does not take it.
bool is_of_exporter(const HeapAnalysed& heap) {
  const bool retries = std::ranges::any_of(heap.goroutines, [](const GoroutineStack& one) {
    return std::ranges::any_of(one.stack, [](const std::string& f) { return f.ends_with("(*retrySender).Send"); });
  });
  return retries || (!heap.holders.empty() && heap.holders.front().component.starts_with("exporter/"));
}

// The kernel's own tables: nothing of it is the container's text.
void add_connections(const std::string& proc_root, ProcessKey key, HeapAnalysed& heap) {
  const auto process = TargetProcess::open(proc_root, key);
  if (!process) return;
  for (std::string& note : connection_notes(*process)) {
    if (heap.notes.size() < HeapAnalysed::kMaxNotes) heap.notes.push_back(std::move(note));
  }
}

}  // namespace

HeapAnalyses::HeapAnalyses(EventLoop& loop, WorkerPool& worker, reader::ReaderGroup& readers, Spool& spool,
                           MemoryBudget& memory, const Clock& clock, std::string proc_root, Deliver deliver)
    : loop_(loop),
      worker_(worker),
      readers_(readers),
      spool_(spool),
      memory_(memory),
      clock_(clock),
      proc_root_(std::move(proc_root)),
      deliver_(std::move(deliver)),
      queue_({.workers = kAtOnce, .allowed = kSecondsOfOne, .patience = patient(kPatience)}) {}

void HeapAnalyses::consider(const CaptureRequest& request, std::optional<Nanoseconds> time_to_limit) {
  deliver_done();
  const bool is_known = !request.targets.empty() && request.limit_bytes.value_or(0) != 0;
  if (!is_known) return;
  const MonotonicTime now = clock_.now();
  const AnalysisPolicy::Depth depth = AnalysisPolicy::plan_for(request.usage_bytes.value_or(0), time_to_limit).depth;
  if (depth == AnalysisPolicy::Depth::kNone) ++dropped_;
  const bool is_due = policy_.wants(request.cgroup, depth, percent_of(request), now);
  if (!is_due && counter_files_.knows(request.cgroup)) return;
  const std::uint64_t job = next_job_++;
  if (queue_.add(job, request.owner, clock_.now()) != FairQueue::Added::kYes) {
    ++dropped_;
    return;
  }
  Waiting& waiting = waiting_[job] = {request, is_due, {}};
  if (time_to_limit) waiting.limit_at = now + std::min(*time_to_limit, kLongest);
  ++open_jobs_;
  run_next();
}

void HeapAnalyses::run_next() {
  while (const auto job = queue_.next(clock_.now())) {
    const auto taken = waiting_.extract(*job);
    const Waiting& waiting = taken.mapped();
    const bool is_late = clock_.now() - waiting.request.requested > kMaxWait;
    const bool is_posted = !is_late && worker_.post([this, job = *job, waiting] {
      const MonotonicTime started = clock_.now();
      Done done{job, {}, waiting.request.cgroup, {}, {}};
      run(waiting, done);
      done.cost = clock_.now() - started;
      finish(std::move(done));
    });
    if (is_posted) continue;
    ++dropped_;
    --open_jobs_;
    queue_.ended(*job, {}, clock_.now());
  }
}

void HeapAnalyses::tick() {
  deliver_done();
  counter_files_.forget_gone(clock_.now());
  run_next();
}

// A file of 32 KiB, so it does not wait in the queue of analyses.
void HeapAnalyses::read_counters(ProcessKey victim, CgroupId cgroup) {
  const auto file = std::make_shared<UniqueFd>(counter_files_.take(victim));
  if (!file->is_valid()) return;
  const bool is_posted = worker_.post([this, victim, cgroup, file] {
    HeapAnalysed event;
    event.started = clock_.now();
    event.process = victim;
    event.cgroup = cgroup;
    event.of = RuntimeKind::kJvm;
    event.trigger.kind = CaptureTrigger::Kind::kOomKill;
    const int files[] = {file->get()};
    const auto read = readers_.run(kReadJvmCountersJob, "", files, kCountersTime, clock_.now() + kMaxWait);
    auto found = read ? decode_analysed(*read) : Result<HeapAnalysed>(tl::make_unexpected(read.error().error));
    event.time = clock_.now();
    if (found) {
      event.result = CaptureResult::kOk;
      event.notes = std::move(found->notes);
      event.jvm = std::move(found->jvm);
    } else {
      event.reason = CaptureReason::kUnreadable;
      event.detail = printable("its last figures: " + found.error().message, HeapAnalysed::kMaxText);
    }
    if (!loop_.post([this, event = std::move(event)] { deliver_(event); })) ++dropped_;
  });
  if (!is_posted) ++dropped_;
}

void HeapAnalyses::finish(Done done) {
  {
    const std::lock_guard lock(done_mutex_);
    done_.push_back(std::move(done));
  }
  // If the loop's queue is full, the next request or tick delivers this one too.
  (void)loop_.post([this] { deliver_done(); });
}

void HeapAnalyses::deliver_done() {
  std::vector<Done> done;
  {
    const std::lock_guard lock(done_mutex_);
    done.swap(done_);
  }
  if (done.empty()) return;
  for (Done& ended : done) {
    queue_.ended(ended.job, ended.cost, clock_.now());
    --open_jobs_;
    if (ended.found) policy_.note(ended.cgroup, *ended.found);
    for (HeapAnalysed& event : ended.events) deliver_(std::move(event));
  }
  run_next();
}

const CaptureTarget* HeapAnalyses::largest(const std::vector<CaptureTarget>& targets) const {
  const CaptureTarget* most = nullptr;
  std::uint64_t pages = 0;
  for (const CaptureTarget& target : targets) {
    const std::uint64_t its = resident_pages(proc_root_, target.process);
    if (its > pages) most = &target, pages = its;
  }
  return most;
}

void HeapAnalyses::run(const Waiting& waiting, Done& done) {
  const CaptureTarget* target = largest(waiting.request.targets);
  if (target == nullptr) {
    if (waiting.is_due) ++dropped_;
    return;
  }
  counter_files_.open(proc_root_, waiting.request.cgroup, target->process);
  if (waiting.is_due) analyse(waiting, *target, done);
}

AnalysisPolicy::Plan HeapAnalyses::plan_for(const Waiting& waiting, const HeapAnalysis& row) const {
  std::optional<Nanoseconds> left;
  if (waiting.limit_at) left = *waiting.limit_at - clock_.now();
  AnalysisPolicy::Plan plan =
      AnalysisPolicy::plan_for(waiting.request.usage_bytes.value_or(0), left, row.each_mebibyte);
  if (plan.depth == AnalysisPolicy::Depth::kSampled && !row.can_sample) plan = {AnalysisPolicy::Depth::kComposition, 1};
  return plan;
}

// Each row as far as there is time for it. The composition is for a process that none of them had the time to read.
void HeapAnalyses::analyse(const Waiting& waiting, const CaptureTarget& target, Done& done) {
  using enum AnalysisPolicy::Depth;
  const auto process = ProcessFiles::open(proc_root_, target.process, wanted_libraries());
  if (!process) return;  // gone, or not ours to read: the captures' own events say so
  bool is_short = false;
  for (std::size_t row = 0; row < heap_analyses().size() && process->is_still_there(); ++row) {
    const AnalysisPolicy::Plan plan = plan_for(waiting, *analysis_of(row));
    if (plan.depth < kSampled) {
      is_short = true;
    } else if (analyse_row(waiting.request, *process, row, plan.one_in, done.events)) {
      done.found = std::max(done.found.value_or(kNone), plan.depth);
    }
  }
  if (!is_short || done.found) return;
  done.found = kNone;
  if (plan_for(waiting, *analysis_of(kCompositionRow)).depth == kNone) {
    ++dropped_;
  } else if (analyse_row(waiting.request, *process, kCompositionRow, 1, done.events)) {
    done.found = kComposition;
  }
}

bool HeapAnalyses::analyse_row(const CaptureRequest& request, const ProcessFiles& process, std::size_t row,
                               std::uint32_t one_in, std::vector<HeapAnalysed>& events) {
  const ProcessKey key{process.image.pid, process.image.start_time_ticks};
  const MonotonicTime now = clock_.now();
  HeapAnalysed event = begun(request, key, analysis_of(row)->of, now);
  const SampleRate rate{one_in, static_cast<std::uint64_t>(now.ns)};
  auto answer = analyse_heap(row, process, &readers_, &memory_, now + kMaxAnalysisTime + kMaxWait, rate);
  const bool is_there = process.is_still_there();
  if (answer && !*answer) return false;
  if (!is_there) {
    const CaptureFailure gone{CaptureReason::kGone, "the process ended while its memory was read", key};
    events.push_back(failed(std::move(event), gone, clock_.now()));
  } else if (!answer) {
    events.push_back(failed(std::move(event), answer.error(), clock_.now()));
  } else {
    keep_files(**answer, request);
    if (is_of_exporter((*answer)->heap)) add_connections(proc_root_, key, (*answer)->heap);
    events.push_back(succeeded(std::move(event), std::move((*answer)->heap), clock_.now()));
  }
  return true;
}

// A file that finds no room is not named, and the event says so.
void HeapAnalyses::keep_files(AnalysisAnswer& answer, const CaptureRequest& request) {
  std::vector<HeapAnalysed::File>& names = answer.heap.files;
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto kept = spool_.put(static_cast<std::uint64_t>(request.cgroup.value), "analysis",
                           Spool::Profile{{}, std::move(answer.files[i])}, request.owner);
    if (kept) {
      names[i].spool_file = std::move(*kept);
    } else {
      answer.heap.notes.push_back(names[i].name + ": lost: " + kept.error().message);
    }
  }
  std::erase_if(names, [](const HeapAnalysed::File& file) { return file.spool_file.empty(); });
}

void HeapAnalyses::add_excesses(ShareExcesses& excesses) const {
  const auto add = [](ShareExcess& sum, const ShareExcess& one) {
    sum.count += one.count;
    if (one.count > 0) sum.last = one.last;
  };
  add(excesses[ShareKind::kCaptures], queue_.refused());
  add(excesses[ShareKind::kCaptureSeconds], queue_.rested());
}

}  // namespace oomw
