// SPDX-License-Identifier: Apache-2.0
#include "kernel/growth_programs.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <oomwitness/events.h>

#include "kernel/catalog.h"
#include "kernel/ladder.h"
#include "kernel/program_loader.h"
#include "kernel/resting_hook.h"
#include "kernel/shared_maps.h"

namespace oomw {

namespace {

#if defined(__x86_64__)
constexpr bool kIsSupported = true;
#else
constexpr bool kIsSupported = false;
#endif

constexpr std::uint32_t kMinBatchPages = 32;
constexpr std::uint32_t kMinSlotPages = 4, kMaxSlotPages = 1u << 24;

std::uint64_t page_size() { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

// As the kernel's percpu_counter_batch.
std::uint32_t batch_pages() {
  const auto cpus = static_cast<std::uint32_t>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L));
  return std::max(kMinBatchPages, 2 * cpus);
}

std::map<std::string, std::uint32_t> map_entries(const GrowthConfig& config, int possible_cpus) {
  const std::uint32_t processes = std::max(config.max_processes, 1u);
  return {{"growth_ring", static_cast<std::uint32_t>(std::bit_ceil(std::max<std::size_t>(config.ring_bytes, 4096)))},
          {"growth_targets", processes},
          {"growth_python", processes},
          {"growth_budgets", processes},
          {"growth_records", static_cast<std::uint32_t>(std::max(possible_cpus, 1))}};
}

oomw_growth_target to_raw(const GrowthTarget& target) {
  oomw_growth_target raw = target.parked.value_or(oomw_growth_target{});
  raw.is_resumed = raw.mm != 0 ? 1 : 0;
  raw.start_ticks = target.process.start_ticks;
  raw.cgroup_id = target.cgroup.value;
  raw.page_size = static_cast<std::uint32_t>(page_size());
  const std::uint64_t pages = target.slot_bytes / page_size();
  raw.slot_pages = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(pages, kMinSlotPages, kMaxSlotPages));
  raw.batch_pages = batch_pages();
  raw.stack_max = std::min<std::uint32_t>(target.stack_max_bytes, OOMW_GROWTH_STACK_MAX);
  return raw;
}

struct FreeRing {
  void operator()(ring_buffer* buffer) const { ring_buffer__free(buffer); }
};

}  // namespace

struct GrowthPrograms::Impl {
  explicit Impl(const GrowthConfig& config) : maps(map_entries(config, libbpf_num_possible_cpus())) {}

  Result<> load(const GrowthConfig& config);
  static int on_record(void* self, void* data, std::size_t size);
  int take(Record record);
  Result<> update(const char* map, const void* key, const void* value);
  void erase(const char* map, const void* key) { bpf_map_delete_elem(maps.fd(map), key); }
  [[nodiscard]] bool uses(CgroupId cgroup) const;
  void mark_resumed();
  // Here and now, unlike RestingHook::detach(): a fork meanwhile would keep the link.
  void detach() { programs.front().link = UniqueFd(); }

  SharedMaps maps;
  FeatureStatus status;
  std::vector<LoadedProgram> programs;
  std::optional<RestingHook> hook;
  std::unique_ptr<ring_buffer, FreeRing> ring;
  std::map<ProcessKey, CgroupId> watched;
  const std::function<void(Record)>* deliver = nullptr;  // during drain() only
  std::size_t taken = 0, max_records = 0;
};

Result<> GrowthPrograms::Impl::load(const GrowthConfig& config) {
  ASSIGN_OR_RETURN(const KernelBtf kernel, KernelBtf::load());
  ProgramLoader loader(maps, {}, {});
  auto result = descend(growth_feature(), config.best_allowed, kernel, loader);
  status = std::move(result.status);
  if (result.programs.empty()) {
    const auto& refused = status.refused;
    return fail(ErrorCode::kUnsupported, refused.empty() ? "switched off" : refused.back().reason);
  }
  programs = std::move(result.programs);
  hook.emplace(programs.front(), "rss_stat");
  detach();
  ring.reset(ring_buffer__new(maps.fd("growth_ring"), &Impl::on_record, this, nullptr));
  if (ring == nullptr) return fail_errno(errno, "mapping the ring buffer");
  return {};
}

Result<> GrowthPrograms::Impl::update(const char* map, const void* key, const void* value) {
  if (bpf_map_update_elem(maps.fd(map), key, value, BPF_ANY) == 0) return {};
  if (errno == E2BIG) return fail(ErrorCode::kLimit, "more growing processes than are watched");
  return fail_errno(errno, map);
}

bool GrowthPrograms::Impl::uses(CgroupId cgroup) const {
  return std::any_of(watched.begin(), watched.end(), [&](const auto& entry) { return entry.second == cgroup; });
}

// The program is detached: nobody else writes these.
void GrowthPrograms::Impl::mark_resumed() {
  for (const auto& [process, cgroup] : watched) {
    const std::uint32_t tgid = tgid_of(process);
    oomw_growth_target raw;
    if (bpf_map_lookup_elem(maps.fd("growth_targets"), &tgid, &raw) != 0 || raw.mm == 0) continue;
    raw.is_resumed = 1;
    bpf_map_update_elem(maps.fd("growth_targets"), &tgid, &raw, BPF_EXIST);
  }
}

int GrowthPrograms::Impl::on_record(void* self, void* data, std::size_t size) {
  return static_cast<Impl*>(self)->take({static_cast<const std::byte*>(data), size});
}

// An error makes libbpf stop behind this record.
int GrowthPrograms::Impl::take(Record record) {
  oomw_growth_sample head;
  ++taken;
  if (record.size() >= sizeof(head)) {
    std::memcpy(&head, record.data(), sizeof(head));
    const bool is_whole = head.type == OOMW_EVENT_GROWTH && head.size == record.size() &&
                          head.stack_bytes == record.size() - sizeof(head);
    if (is_whole) (*deliver)(record);
  }
  return taken < max_records ? 0 : -ECANCELED;
}

GrowthPrograms::GrowthPrograms() = default;
GrowthPrograms::~GrowthPrograms() = default;

Result<std::unique_ptr<GrowthPrograms>> GrowthPrograms::make(const GrowthConfig& config) {
  if (!kIsSupported) return fail(ErrorCode::kUnsupported, "growth is sampled on x86-64 only");
  std::unique_ptr<GrowthPrograms> made(new GrowthPrograms());
  made->impl_ = std::make_unique<Impl>(config);
  RETURN_IF_ERROR(made->impl_->load(config));
  return made;
}

Result<> GrowthPrograms::watch(const GrowthTarget& target) {
  if (target.process.pid <= 0) return fail(ErrorCode::kInvalid, "no process");
  const oomw_growth_budget budget{.bytes_per_second = target.budget_bytes_per_second, .since_ns = 0, .bytes = 0};
  const std::uint32_t tgid = tgid_of(target.process);
  const auto raw = to_raw(target);
  // A process that had the same pid before makes room.
  std::erase_if(impl_->watched, [&](const auto& entry) { return entry.first.pid == target.process.pid; });
  RETURN_IF_ERROR(impl_->update("growth_budgets", &target.cgroup.value, &budget));
  impl_->erase("growth_python", &tgid);
  if (auto added = impl_->update("growth_targets", &tgid, &raw); !added) {
    if (!impl_->uses(target.cgroup)) impl_->erase("growth_budgets", &target.cgroup.value);
    return added;
  }
  impl_->watched[target.process] = target.cgroup;
  return {};
}

void GrowthPrograms::rest() { impl_->detach(); }

Result<> GrowthPrograms::resume() {
  if (is_attached() || impl_->watched.empty()) return {};
  impl_->mark_resumed();
  return impl_->hook->attach();
}

void GrowthPrograms::unwatch(ProcessKey process) {
  auto found = impl_->watched.find(process);
  if (found == impl_->watched.end()) return;
  const CgroupId cgroup = found->second;
  impl_->watched.erase(found);
  const std::uint32_t tgid = tgid_of(process);
  impl_->erase("growth_targets", &tgid);
  impl_->erase("growth_python", &tgid);
  if (!impl_->uses(cgroup)) impl_->erase("growth_budgets", &cgroup.value);
  if (impl_->watched.empty()) impl_->detach();
}

Result<> GrowthPrograms::set_python(ProcessKey process, const oomw_growth_python& layout) {
  if (!impl_->watched.contains(process)) return fail(ErrorCode::kNotFound, "not watched");
  const std::uint32_t tgid = tgid_of(process);
  return impl_->update("growth_python", &tgid, &layout);
}

std::optional<oomw_growth_target> GrowthPrograms::parked(ProcessKey process) const {
  if (!impl_->watched.contains(process)) return std::nullopt;
  const std::uint32_t tgid = tgid_of(process);
  oomw_growth_target raw;
  if (bpf_map_lookup_elem(impl_->maps.fd("growth_targets"), &tgid, &raw) != 0) return std::nullopt;
  return raw;
}

std::optional<GrowthState> GrowthPrograms::state(ProcessKey process) const {
  const auto raw = parked(process);
  if (!raw) return std::nullopt;
  return GrowthState{.has_begun = raw->mm != 0,
                     .slot = raw->slot > raw->base ? raw->slot - raw->base : 0,
                     .samples = raw->samples,
                     .over_budget = raw->over_budget,
                     .ring_full = raw->ring_full,
                     .unseen = raw->unseen};
}

int GrowthPrograms::ring_fd() const { return ring_buffer__epoll_fd(impl_->ring.get()); }

std::size_t GrowthPrograms::drain(const std::function<void(Record)>& deliver, std::size_t max_records) {
  if (max_records == 0) return 0;
  impl_->deliver = &deliver;
  impl_->taken = 0;
  impl_->max_records = max_records;
  ring_buffer__consume(impl_->ring.get());
  impl_->deliver = nullptr;
  return impl_->taken;
}

const FeatureStatus& GrowthPrograms::status() const { return impl_->status; }

bool GrowthPrograms::is_attached() const { return impl_->hook->is_attached(); }

std::size_t GrowthPrograms::watched() const { return impl_->watched.size(); }

}  // namespace oomw
