// SPDX-License-Identifier: Apache-2.0
// Builds the state that one scrape shows.
#include "analyses/analysis_job.h"
#include "analyses/jvm_counter_files.h"
#include "base/log.h"
#include "captures/profile_check.h"
#include "captures/stored_reading.h"
#include "captures/walk_job.h"
#include "daemon/daemon_impl.h"
#include "daemon/self_protection.h"
#include "export/snapshot_builder.h"
#include "model/share_owner.h"
#include "report/profile_texts.h"
#include "runtimes/go/heap_job.h"
#include "runtimes/go/inspection_jobs.h"
#include "runtimes/go/names_job.h"
#include "system/process_reader.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxContainerSeries = 4'096;

// As the command doctor has it, in one line.
std::string lost_text(const FeatureStatus& feature) {
  std::string text = feature.lost;
  for (const RefusedRung& refused : feature.refused) {
    if (!text.empty()) text += "; ";
    text += "no " + std::string(to_string(refused.rung)) + ": " + refused.reason;
  }
  return text;
}

std::string name_of_job(std::uint32_t kind) {
  switch (kind) {
    case kCheckProfileJob:
      return "profile_check";
    case kWalkJob:
      return "walk";
    case kStoreReadingJob:
      return "profile";
    case kAnalyseHeapJob:
    case kReadJvmCountersJob:
      return "analysis";
    case kUnwindSamplesJob:
      return "growth";
    case kProfileTextsJob:
      return "report";
    case go::kInspectBinaryJob:
    case go::kFindListHeadJob:
      return "inspection";
    case go::kReadHeapJob:
      return "live";
    case go::kNameFramesJob:
      return "names";
    default:
      return "other";
  }
}

void add_jobs(const std::string& job, const reader::JobCounts& counts, MetricsSnapshot::ReaderJobs& jobs) {
  jobs[{job, "done"}] += counts.done;
  jobs[{job, "busy"}] += counts.busy;
  jobs[{job, "failed"}] += counts.failed;
  jobs[{job, "timeout"}] += counts.timeouts;
  jobs[{job, "limit"}] += counts.limits;
  jobs[{job, "refused"}] += counts.refused;
}

}  // namespace

void Daemon::Impl::start_process_memory() {
  if (!config.is_showing_processes) return;
  process_memory = std::make_unique<ProcessGauges>(
      [processes = ProcessReader(config.proc_root)](ProcessMemoryMetrics::Process& process) {
        const Result<MappedMemory> memory = processes.memory_of(process.key);
        if (!memory) return false;
        process.resident_bytes = memory->resident_bytes;
        process.virtual_bytes = memory->virtual_bytes;
        return true;
      });
}

MetricsSnapshot Daemon::Impl::build_snapshot() {
  MetricsSnapshot snapshot;
  snapshot.built = snapshot.core_tick = clock.now();
  snapshot.ready = is_first_snapshot_ready;
  snapshot.node = node;
  add_model(pipeline->model(), kMaxContainerSeries, snapshot, suspicions());
  if (process_memory) snapshot.process_memory = process_memory->newest(pipeline->model());
  add_trends(snapshot);
  const KillLedger& ledger = pipeline->ledger();
  snapshot.kills = ledger.counts();
  snapshot.kills_folded = ledger.folded();
  snapshot.kills_retired = ledger.retired();
  for (ContainerMetrics& c : snapshot.containers) {
    c.has_hidden_kills = !ledger.may_show_zero({c.k8s_namespace, c.pod, c.container, "container"});
  }
  snapshot.captures = capture_metrics;
  snapshot.kills_by_cause = causes.settled(snapshot.built);
  if (http) snapshot.memstats_left_out = http->memstats_left_out();
  if (reader) add_reader_stats(snapshot);
  snapshot.kernel_oom_kills_unobserved = pipeline->unobserved_kills();
  snapshot.kills_seen_afterwards = pipeline->kills_seen_afterwards();
  snapshot.is_standing_by = pipeline->is_standing_by();
  snapshot.kills_merged = pipeline->merged_kills();
  snapshot.kills_repeated = pipeline->repeated_kills();
  if (oomd) snapshot.oomd_kills = oomd->kills();
  if (walk_captures) walk_captures->add_metrics(snapshot.go_processes);
  if (kernel) add_kernel_stats(snapshot);
  if (pods) add_pod_stats(snapshot);
  add_sink_stats(snapshot);
  if (writer) {
    snapshot.incidents_written = writer->stats().incidents_written;
    for (const auto& [reason, count] : writer->stats().incidents_pruned) {
      snapshot.incidents_pruned[std::string(to_string(reason))] = count;
    }
    snapshot.clock_jumps = writer->stats().clock_jumps;
    snapshot.is_age_pruning_held = writer->stats().is_age_held;
    snapshot.incidents_waiting = writer->backlog().firsts() + writer->backlog().amendments();
    snapshot.incident_write_errors = writer->stats().write_errors;
    snapshot.incident_write_seconds_last = writer->stats().last_write_seconds;
    snapshot.data_dir_writable = writer->stats().is_data_dir_writable;
  }
  for (const auto& [kind, excess] : share_excesses()) snapshot.share_exceeded[kind] = excess.count;
  const SelfUsage usage = self_usage();
  snapshot.process_cpu_seconds = usage.cpu_seconds;
  snapshot.process_resident_bytes = usage.resident_bytes;
  return snapshot;
}

void Daemon::Impl::add_reader_stats(MetricsSnapshot& snapshot) const {
  std::vector<reader::ReaderCounters> all = report_readers->counters();
  const auto add = [&all](const std::vector<reader::ReaderCounters>& some) {
    all.insert(all.end(), some.begin(), some.end());
  };
  for (const reader::Reader* one : {reader.get(), growth_reader.get()}) {
    if (one != nullptr) all.push_back(one->counters());
  }
  if (analysis_readers) add(analysis_readers->counters());
  if (walk_captures) add(walk_captures->reader_counters());
  for (const reader::ReaderCounters& counters : all) {
    for (const auto& [kind, counts] : counters.by_kind) add_jobs(name_of_job(kind), counts, snapshot.reader_jobs);
    snapshot.reader_starts += counters.started;
  }
}

void Daemon::Impl::add_kernel_stats(MetricsSnapshot& snapshot) const {
  for (const FeatureStatus& feature : kernel->features()) {
    snapshot.feature_rung[feature.feature] = to_string(feature.rung);
    if (std::string lost = lost_text(feature); !lost.empty()) snapshot.feature_lost[feature.feature] = std::move(lost);
  }
  if (watermark_gate)
    snapshot.page_fault_hook = PageFaultHookMetrics{watermark_gate->is_open(), watermark_gate->changes()};
  if (!config.run_time_stats) return;  // the kernel's counters do not move then: no series, not a 0
  for (const ProgramStats& program : kernel->program_stats()) {
    snapshot.program_runs[program.program] = program.runs;
    snapshot.program_run_seconds[program.program] = static_cast<double>(program.run_ns) / 1e9;
  }
}

ShareExcesses Daemon::Impl::share_excesses() const {
  ShareExcesses excesses;
  if (spool) excesses[ShareKind::kSpool] = spool->over_share();
  const ProcessTable& processes = pipeline->model().processes();
  excesses[ShareKind::kProcesses] = {processes.over_share(), owner_of(processes.last_over_share())};
  if (options.lines_left_out) {
    const auto [count, cgroup] = options.lines_left_out();
    excesses[ShareKind::kLogLines] = {count, owner_of(cgroup)};
  }
  if (scheduler) scheduler->add_excesses(excesses);
  if (walk_captures) walk_captures->add_excesses(excesses);
  if (analyses) analyses->add_excesses(excesses);
  if (growth) growth->add_excesses(excesses);
  return excesses;
}

ShareOwner Daemon::Impl::owner_of(CgroupId cgroup) const { return share_owner_of(cgroup, pipeline->model()); }

// One line a minute for each kind, with the one that was over its share last.
void Daemon::Impl::report_shares() {
  for (const auto& [kind, excess] : share_excesses()) {
    ReportedShare& reported = reported_shares[kind];
    if (excess.count == reported.count || !reported.lines.take(clock.now())) continue;
    log::warn("over its share of {}: {}; {} times in all since the last such line", to_string(kind),
              to_text(excess.last), excess.count - reported.count);
    reported.count = excess.count;
  }
}

}  // namespace oomw
