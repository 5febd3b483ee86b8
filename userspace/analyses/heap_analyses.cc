// SPDX-License-Identifier: Apache-2.0
#include "analyses/heap_analyses.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "analyses/analysis_job.h"
#include "analyses/analysis_wire.h"
#include "analyses/stalled_connections.h"
#include "base/files.h"
#include "base/text.h"
#include "base/victim_marks.h"

namespace oomw {
namespace {

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

HeapAnalyses::HeapAnalyses(EventLoop& loop, WorkerPool& worker, reader::Reader& reader, Spool& spool,
                           MemoryBudget& memory, const Clock& clock, std::string proc_root, Deliver deliver)
    : loop_(loop),
      worker_(worker),
      reader_(reader),
      spool_(spool),
      memory_(memory),
      clock_(clock),
      proc_root_(std::move(proc_root)),
      deliver_(std::move(deliver)),
      queue_({.workers = 1, .allowed = kSecondsOfOne, .patience = kPatience}) {}

void HeapAnalyses::consider(const CaptureRequest& request, std::optional<Nanoseconds> time_to_limit) {
  deliver_done();
  const bool is_known = !request.targets.empty() && request.limit_bytes.value_or(0) != 0;
  if (!is_known) return;
  AnalysisPolicy::Depth depth = AnalysisPolicy::depth_for(request.usage_bytes.value_or(0), time_to_limit);
  if (depth == AnalysisPolicy::Depth::kNone) ++dropped_;
  if (!policy_.wants(request.cgroup, depth, percent_of(request), clock_.now())) depth = AnalysisPolicy::Depth::kNone;
  if (depth == AnalysisPolicy::Depth::kNone && counter_files_.knows(request.cgroup)) return;
  const std::uint64_t job = next_job_++;
  if (queue_.add(job, request.owner, clock_.now()) != FairQueue::Added::kYes) {
    ++dropped_;
    return;
  }
  waiting_[job] = {request, depth};
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
      std::vector<HeapAnalysed> events = run(waiting);
      finish({job, clock_.now() - started, std::move(events)});
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
    const auto read = reader_.run(kReadJvmCountersJob, "", files, kCountersTime, clock_.now() + kMaxWait);
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

std::vector<HeapAnalysed> HeapAnalyses::run(const Waiting& waiting) {
  const CaptureRequest& request = waiting.request;
  std::vector<HeapAnalysed> events;
  const CaptureTarget* target = largest(request.targets);
  if (target == nullptr) return events;
  counter_files_.open(proc_root_, request.cgroup, target->process);
  if (waiting.depth == AnalysisPolicy::Depth::kNone) return events;
  if (waiting.depth == AnalysisPolicy::Depth::kWhole) {
    analyse(request, *target, {0, heap_analyses().size()}, events);
  } else {
    analyse(request, *target, {kCompositionRow, kCompositionRow + 1}, events);
  }
  return events;
}

void HeapAnalyses::analyse(const CaptureRequest& request, const CaptureTarget& target, Rows rows,
                           std::vector<HeapAnalysed>& events) {
  const std::vector<std::string_view> wanted = wanted_libraries();
  const auto process = ProcessFiles::open(proc_root_, target.process, wanted);
  if (!process) return;  // gone, or not ours to read: the captures' own events say so
  const ProcessKey key{process->image.pid, process->image.start_time_ticks};
  for (std::size_t row = rows.begin; row < rows.end; ++row) {
    HeapAnalysed event = begun(request, key, analysis_of(row)->of, clock_.now());
    auto answer = analyse_heap(row, *process, &reader_, &memory_, clock_.now() + kMaxAnalysisTime + kMaxWait);
    const bool is_there = process->is_still_there();
    if (answer && !*answer) continue;
    if (!is_there) {
      const CaptureFailure gone{CaptureReason::kGone, "the process ended while its memory was read", key};
      events.push_back(failed(std::move(event), gone, clock_.now()));
      break;
    }
    if (!answer) {
      events.push_back(failed(std::move(event), answer.error(), clock_.now()));
      continue;
    }
    keep_files(**answer, request);
    if (is_of_exporter((*answer)->heap)) add_connections(proc_root_, target.process, (*answer)->heap);
    events.push_back(succeeded(std::move(event), std::move((*answer)->heap), clock_.now()));
  }
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
