// SPDX-License-Identifier: Apache-2.0
#include "kernel/kernel_source.h"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <oomwitness/events.h>

#include "kernel/ladder.h"
#include "kernel/libbpf_log.h"
#include "kernel/missed_runs.h"
#include "kernel/ring.h"
#include "kernel/settings.h"
#include "kernel/shared_maps.h"
#include "kernel/stats.h"

namespace oomw {

namespace {

// Same layout as in bpf/core/maps.h.
struct GateKey {
  std::uint64_t cgroup_id;
  std::uint32_t level_index;
  std::uint32_t reserved;
};

Rung best_allowed(const KernelConfig& config, const std::string& feature) {
  auto forced = config.forced.find(feature);
  return forced == config.forced.end() ? Rung::kFentry : forced->second;
}

}  // namespace

std::string_view to_string(Rung rung) {
  constexpr std::array<std::string_view, 5> kNames = {"fentry", "tp_btf", "raw_tp", "files", "none"};
  return kNames[static_cast<std::size_t>(rung)];
}

struct KernelSource::Impl {
  explicit Impl(const KernelConfig& config)
      : settings(make_settings(config)), maps(make_map_entries(config)), possible_cpus(libbpf_num_possible_cpus()) {}

  void load_all(const KernelConfig& config);
  void start_go_heap(const KernelConfig& config);
  void find_page_fault_hook();
  void fall_to_files(const KernelConfig& config, const std::string& reason);

  oomw_settings settings;
  SharedMaps maps;
  int possible_cpus;
  std::vector<FeatureStatus> features;
  std::vector<LoadedProgram> programs;
  std::unique_ptr<Ring> ring;             // null without programs
  std::unique_ptr<HeapWalks> heap_walks;  // null where not served
  std::optional<RestingHook> page_fault_hook;
  UniqueFd run_time_stats;
  mutable MissedRuns missed_runs;
};

void KernelSource::Impl::load_all(const KernelConfig& config) {
  auto kernel = KernelBtf::load();
  if (!kernel) return fall_to_files(config, kernel.error().message);
  ProgramLoader loader(maps, settings, kernel->facts(possible_cpus));
  auto signature_of = [&](const std::string& tracepoint) {
    bool is_hidden = config.walk_at_delivery && tracepoint == "sched_process_exit";
    return is_hidden ? std::nullopt : kernel->signature_of(tracepoint);
  };
  for (const FeatureSpec& spec : feature_catalog(signature_of)) {
    auto result = descend(spec, best_allowed(config, spec.feature), *kernel, loader);
    features.push_back(std::move(result.status));
    std::move(result.programs.begin(), result.programs.end(), std::back_inserter(programs));
  }
}

// Its programs are attached, but no process is registered before heap_walks() is handed out.
void KernelSource::Impl::start_go_heap(const KernelConfig& config) {
  auto status = std::find_if(features.begin(), features.end(),
                             [](const FeatureStatus& feature) { return feature.feature == "heap_at_kill"; });
  if (status == features.end() || status->rung >= Rung::kFiles) return;
  auto made = HeapWalks::make(maps, walk_chunks(config));
  if (made) {
    heap_walks = std::move(*made);
    return;
  }
  status->refused.push_back({status->rung, made.error().message});
  status->rung = Rung::kNone;
}

void KernelSource::Impl::find_page_fault_hook() {
  const auto found = std::find_if(programs.begin(), programs.end(), [](const LoadedProgram& program) {
    return program.name == "on_rss_stat_btf" || program.name == "on_rss_stat_raw";
  });
  if (found != programs.end()) page_fault_hook.emplace(*found, "rss_stat");
}

void KernelSource::Impl::fall_to_files(const KernelConfig& config, const std::string& reason) {
  programs.clear();
  features.clear();
  auto nothing_known = [](const std::string&) { return std::optional<HookSignature>(); };
  for (const FeatureSpec& spec : feature_catalog(nothing_known)) {
    features.push_back(oomw::fall_to_files(spec, best_allowed(config, spec.feature), reason));
  }
}

KernelSource::KernelSource() = default;
KernelSource::~KernelSource() = default;

std::unique_ptr<KernelSource> KernelSource::make(const KernelConfig& config) {
  std::unique_ptr<KernelSource> source(new KernelSource());
  source->impl_ = std::make_unique<Impl>(config);
  Impl& impl = *source->impl_;
  impl.load_all(config);
  if (!impl.programs.empty()) {
    LibbpfLog log;
    auto ring = Ring::make(impl.maps.fd("ring"), impl.maps.fd("next_reads"));
    if (ring) {
      impl.ring = std::move(*ring);
      impl.start_go_heap(config);
      impl.find_page_fault_hook();
    } else {
      // Programs whose records cannot be read would only fill the ring.
      impl.fall_to_files(config, ring.error().message);
    }
  }
  // Parsing the kernel's BTF again for each object leaves about 10 MB of free heap behind.
  ::malloc_trim(0);
  return source;
}

std::vector<FeatureStatus> KernelSource::features() const { return impl_->features; }

bool KernelSource::serves(const std::string& feature) const {
  return std::any_of(impl_->features.begin(), impl_->features.end(), [&](const FeatureStatus& status) {
    return status.feature == feature && status.rung < Rung::kFiles;
  });
}

int KernelSource::ring_fd() const { return impl_->ring ? impl_->ring->epoll_fd() : -1; }

std::size_t KernelSource::drain(const std::function<void(Event)>& deliver, std::size_t max_records) {
  return impl_->ring ? impl_->ring->drain(deliver, max_records) : 0;
}

std::optional<ReclaimSampled> KernelSource::reclaim_of(CgroupId cgroup, MonotonicTime now) const {
  int fd = impl_->maps.fd("reclaims");
  oomw_reclaim totals{};
  if (fd < 0 || bpf_map_lookup_elem(fd, &cgroup.value, &totals) != 0) return std::nullopt;
  return ReclaimSampled{
      .time = now,
      .cgroup = cgroup,
      .calls = totals.calls,
      .zero_yield_calls = totals.zero_yield_calls,
      .reclaimed_bytes = totals.reclaimed_pages * impl_->settings.page_size,
      .stall_ns = totals.stall_ns,
  };
}

void KernelSource::forget(CgroupId cgroup) {
  if (!impl_->ring) return;
  // Absent entries are the common case: most cgroups never come near a limit.
  bpf_map_delete_elem(impl_->maps.fd("reclaims"), &cgroup.value);
  if (bpf_map_delete_elem(impl_->maps.fd("memcg_states"), &cgroup.value) != 0) return;
  for (std::uint32_t index = 0; index <= OOMW_MAX_LEVELS; ++index) {
    GateKey key{cgroup.value, index, 0};
    bpf_map_delete_elem(impl_->maps.fd("level_gates"), &key);
  }
}

LostCounts KernelSource::lost() const {
  auto lost = read_lost(impl_->maps.fd("lost"), impl_->possible_cpus);
  lost[LostStage::kDecode] = impl_->ring ? impl_->ring->undecodable() : 0;
  lost[LostStage::kProgramMissed] = impl_->missed_runs.total(impl_->programs);
  lost[LostStage::kGoTargets] = impl_->heap_walks ? impl_->heap_walks->targets_lost() : 0;
  return lost;
}

int KernelSource::victims_fd() const { return impl_->maps.fd("victims"); }

HeapWalks* KernelSource::heap_walks() { return impl_->heap_walks.get(); }

RestingHook* KernelSource::page_fault_hook() { return impl_->page_fault_hook ? &*impl_->page_fault_hook : nullptr; }

std::vector<ProgramStats> KernelSource::program_stats() const {
  std::vector<ProgramStats> stats;
  for (const LoadedProgram& program : impl_->programs) stats.push_back(read_program_stats(program));
  return stats;
}

Result<> KernelSource::enable_run_time_stats() {
  UniqueFd fd(bpf_enable_stats(BPF_STATS_RUN_TIME));
  if (!fd.is_valid()) return fail_errno(errno, "BPF_ENABLE_STATS");
  impl_->run_time_stats = std::move(fd);
  return {};
}

}  // namespace oomw
