// SPDX-License-Identifier: Apache-2.0
// Gives the heap trends the data that they need.
#include "daemon/daemon_impl.h"
#include "model/pod_annotations.h"

namespace oomw {
namespace {

constexpr Nanoseconds kContentsList = std::chrono::seconds(5);
constexpr std::size_t kMaxOfCgroup = 16;  // processes; a large one among more than that is a rare find

}  // namespace

// The spool names everything like a profile; the incident has the real name.
KeepTrendFile Daemon::Impl::keep_trend_file() const {
  return [this](ProcessKey process, const std::string& name, std::string bytes) {
    const char* kind = name == kTrendFile ? "trend-json" : "trend";
    return spool->put(static_cast<std::uint64_t>(process.pid), kind, std::move(bytes));
  };
}

void Daemon::Impl::start_trends() {
  if (!config.trend.enabled) return;
  const auto on_judged = [this](const TrendJudged& judged) { queue.push(judged); };
  trends = std::make_unique<HeapTrends>(
      *loop, walk_captures->registry(), clock, profile_memory, go_trends_config(config.trend),
      [this](ProcessKey process) { return memory_of(process); }, on_judged, keep_trend_file());
}

// Readings use the reader processes of analyses, and wait for one of them.
void Daemon::Impl::start_contents_trends() {
  if (!trends || !analyses || config.trend.contents_core_share <= 0) return;
  const ContentsRuntime::Config wanted{.proc_root = config.proc_root};
  contents = std::make_unique<ContentsRuntime>(clock, analysis_readers.get(), &capture_memory, wanted,
                                               [this] { return !analyses->is_idle(); });
  const auto memory_here = [this](ProcessKey process) {
    const auto memory = memory_of(process);
    if (memory) contents->note_memory(process, *memory);
    return memory;
  };
  contents_trends = std::make_unique<HeapTrends>(
      *loop, *contents, clock, profile_memory, contents_trends_config(config.trend), memory_here,
      [this](const TrendJudged& judged) { queue.push(judged); }, keep_trend_file());
}

// One trend per incident: that of its first victim, which the kernel chose. Of what fills it nothing is read at the
// kill.
void Daemon::Impl::judge_trends(ProcessKey victim, bool is_chosen) {
  if (trends) trends->judge_at_kill(victim, is_chosen);
  if (!contents_trends) return;
  contents_trends->judge_at_kill(victim, is_chosen);
  contents_trends->on_no_more_readings(victim);
}

void Daemon::Impl::tick_contents() {
  if (clock.now() >= next_contents_list) {
    next_contents_list = clock.now() + kContentsList;
    contents->set_processes(processes_with_contents());
  }
  contents_trends->tick(scheduler->in_flight() > 0 || !analyses->is_idle());
}

// Not those of Go, whose own heaps are read, nor of a pod that wants to be left alone.
std::vector<ProcessKey> Daemon::Impl::processes_with_contents() const {
  const MemoryModel& model = pipeline->model();
  std::vector<ProcessKey> found;
  for (const auto& [id, cgroup] : model.cgroups()) {
    const auto limit = model.effective_limit(id);
    if (!limit || cgroup.usage_bytes < ContentsRuntime::kLeastBytes) continue;
    std::vector<const ProcessState*> processes;
    model.processes().collect(id, kMaxOfCgroup, processes);
    if (processes.empty() || why_left_alone(id, model, config.kubernetes.capture_opt_in) != CaptureReason::kNone) {
      continue;
    }
    for (const ProcessState* process : processes) {
      if (walk_captures->registry().find(process->key) == nullptr) found.push_back(process->key);
    }
  }
  return found;
}

// An analysis on the way to the limit is a reading, too. The core does not wait for the store.
void Daemon::Impl::add_to_contents(const HeapAnalysed& analysed) {
  if (!contents) return;
  auto reading = contents->reading_of(analysed);
  if (!reading) return;
  const RuntimeProcessPtr process = contents->process(analysed.process);
  const bool is_posted = analysis_worker->post([this, process, reading = std::move(*reading)] {
    contents_trends->add(*process, reading, ReadingOrigin::kWatermark);
  });
  if (is_posted) contents_trends->note_read(analysed.process);
}

LeakSuspicions Daemon::Impl::suspicions() const {
  LeakSuspicions all;
  if (trends) all = trends->suspicions();
  if (contents_trends) all.merge(contents_trends->suspicions());
  return all;
}

void Daemon::Impl::add_trends(MetricsSnapshot& snapshot) const {
  if (trends) snapshot.trend = trends->metrics();
  if (!contents_trends) return;
  const TrendMetrics of_contents = contents_trends->metrics();
  snapshot.trend->contents_readings = of_contents.readings;
  snapshot.trend->contents_cpu_seconds = of_contents.cpu_seconds;
  snapshot.trend->brought_forward += of_contents.brought_forward;
  snapshot.trend->bytes += of_contents.bytes;
  for (const auto& [what, count] : of_contents.dropped) snapshot.trend->dropped[what] += count;
}

std::optional<ContainerMemory> Daemon::Impl::memory_of(ProcessKey key) const {
  const ProcessState* process = pipeline->model().find_process(key);
  if (process == nullptr) return std::nullopt;
  const auto limit = pipeline->model().effective_limit(process->cgroup);
  if (!limit) return std::nullopt;
  const std::uint64_t used = limit->nonreclaimable_bytes.value_or(limit->usage_bytes);
  const bool is_half_full = used >= limit->limit_bytes / 2;
  return ContainerMemory{used, limit->limit_bytes, clock.now(),
                         is_half_full ? owner_of(process->cgroup) : ShareOwner()};
}

}  // namespace oomw
