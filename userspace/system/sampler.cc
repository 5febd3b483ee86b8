// SPDX-License-Identifier: Apache-2.0
#include "system/sampler.h"

#include <algorithm>
#include <utility>

#include "base/patience.h"
#include "system/sampler_impl.h"

namespace oomw {
namespace {

// Slow readings come in batches: with few cgroups one wake-up per slow/kMinBatches; with many, at
// most kMaxBatch readings (at most 40 us each) per wake-up, so that no kernel event waits over 3 ms.
constexpr std::size_t kMinBatches = 16;
constexpr std::size_t kMaxBatch = 64;

constexpr std::size_t kMaxBundles = CgroupFs::kMaxCgroups;   // that wait to be read, at 50 us each
constexpr Nanoseconds kBundleAge = std::chrono::minutes(1);  // a name is true whenever it comes
constexpr Nanoseconds kStartPatience = std::chrono::seconds(2);

std::size_t batches_for(std::size_t count) { return std::max(kMinBatches, (count + kMaxBatch - 1) / kMaxBatch); }

std::size_t batch_size(std::size_t count) {
  const std::size_t batches = batches_for(count);
  return (count + batches - 1) / batches;
}

}  // namespace

Sampler::Impl::Impl(EventLoop& event_loop, const CgroupFs& fs, const Clock& a_clock, SamplerConfig a_config,
                    Deliver a_deliver)
    : loop(event_loop),
      cgroups(fs),
      clock(a_clock),
      config(std::move(a_config)),
      deliver(std::move(a_deliver)),
      processes(config.proc_root),
      due(loop, clock, config.max_pending),
      arguments(
          loop, clock,
          [reader = processes](std::int32_t pid, MonotonicTime now) { return reader.read_with_arguments(pid, now); },
          deliver),
      bundles(loop, clock, "oomw-bundles",
              {.threads = 1, .spares = 2, .max_waiting = kMaxBundles, .max_per_owner = 4, .max_age = kBundleAge}) {}

Sampler::Impl::~Impl() {
  for (const WatchId timer : {slow_timer, fast_timer, rescan_timer}) loop.remove(timer);
}

void Sampler::Impl::start() {
  rescan();
  read_all_processes();
  bundles.settle(patient(kStartPatience));  // names of containers whose kills are read from the log of the past
  is_started = true;
  arm_slow();
  arm_fast();
}

// The interval follows the number of cgroups, so each round arms the next.
void Sampler::Impl::arm_slow() {
  const Nanoseconds interval = config.slow / static_cast<std::int64_t>(batches_for(slow.size()));
  slow_timer = loop.add_once(interval, [this] { run_slow(); });
}

void Sampler::Impl::run_slow() {
  const auto is_tracked = [this](CgroupId id) { return tracked.contains(id); };
  for (const CgroupId id : slow.take(batch_size(slow.size()), is_tracked)) {
    const auto found = tracked.find(id);
    if (found != tracked.end() && !found->second.is_fast) read_slow(id);
  }
  arm_slow();
}

void Sampler::Impl::arm_fast() {
  const std::size_t batches = fast.size() == 0 ? 1 : (fast.size() + kMaxBatch - 1) / kMaxBatch;
  fast_timer = loop.add_once(config.fast / static_cast<std::int64_t>(batches), [this] { run_fast(); });
}

void Sampler::Impl::run_fast() {
  const auto stays = [this](CgroupId id) {
    const auto found = tracked.find(id);
    if (found == tracked.end()) return false;  // drop() has already decreased fast_count
    if (!found->second.is_fast) {
      found->second.in_fast = false;
      --fast_count;
    }
    return found->second.in_fast;
  };
  for (const CgroupId id : fast.take(std::min(fast.size(), kMaxBatch), stays)) sample(id, false);
  arm_fast();
}

bool Sampler::Impl::sample(CgroupId id, bool detailed, bool with_processes) {
  const auto found = tracked.find(id);
  if (found == tracked.end() || found->second.path.empty()) return false;
  auto sample = cgroups.sample(found->second.path, id, clock, detailed);
  if (sample.has_value()) {
    if (found->second.idle) found->second.idle->remember(*sample);
    judge(id, *sample);
    if (with_processes) sample->resident_bytes = resident_bytes(found->second.path);
    deliver(std::move(*sample));
    return true;
  }
  if (sample.error().code == ErrorCode::kNotFound) forget_vanished(id);
  return false;
}

// Only a cgroup that lives until its turn in the slow schedule is worth the descriptors.
void Sampler::Impl::read_slow(CgroupId id) {
  if (sample_idle(id) || !sample(id, false)) return;
  const auto found = tracked.find(id);
  if (found == tracked.end() || found->second.is_fast || found->second.idle || idle_count >= config.max_idle) return;
  auto idle = IdleCgroup::open(cgroups, found->second.path, id);
  if (!idle.has_value()) return;
  found->second.idle = std::make_unique<IdleCgroup>(std::move(*idle));
  ++idle_count;
}

bool Sampler::Impl::sample_idle(CgroupId id) {
  const Tracked& state = tracked.at(id);
  auto sample = state.idle ? state.idle->read(clock) : std::nullopt;
  if (!sample) return false;
  judge(id, *sample);
  deliver(std::move(*sample));
  return true;
}

void Sampler::Impl::judge(CgroupId id, const MemorySampled& sample) {
  const bool is_near = sample.limit_bytes && static_cast<double>(sample.usage_bytes) >=
                                                 config.fast_ratio * static_cast<double>(*sample.limit_bytes);
  if (is_near) return make_fast(id);
  tracked.at(id).is_fast = false;
}

void Sampler::Impl::make_fast(CgroupId id) {
  const auto found = tracked.find(id);
  if (found == tracked.end() || found->second.is_fast) return;
  if (!found->second.in_fast) {
    if (fast_count >= config.max_fast) {
      ++lost[LostStage::kFastSampling];
      return;
    }
    ++fast_count;
    fast.add(id);
  }
  found->second.is_fast = true;
  found->second.in_fast = true;
}

Sampler::Sampler(EventLoop& loop, const CgroupFs& cgroups, const Clock& clock, SamplerConfig config, Deliver deliver)
    : impl_(std::make_unique<Impl>(loop, cgroups, clock, std::move(config), std::move(deliver))) {}
Sampler::~Sampler() = default;

void Sampler::start() { impl_->start(); }

void Sampler::on_event(const Event& event) {
  if (const auto* created = std::get_if<CgroupCreated>(&event)) impl_->on_created(*created);
  if (const auto* removed = std::get_if<CgroupRemoved>(&event)) impl_->drop(removed->cgroup);
  if (const auto* exec = std::get_if<ProcessExec>(&event)) impl_->read_later(*exec);
  if (const auto* exit = std::get_if<ProcessExit>(&event)) impl_->seen.remove(exit->process.pid);
  if (const auto* crossed = std::get_if<WatermarkCrossed>(&event)) impl_->make_fast(crossed->cgroup);
}

bool Sampler::sample_now(CgroupId cgroup, bool detailed) { return impl_->sample(cgroup, detailed); }
bool Sampler::sample_after_kill(CgroupId cgroup, bool detailed) { return impl_->sample(cgroup, detailed, true); }
void Sampler::read_processes_now(CgroupId cgroup, std::size_t max) { impl_->read_processes(cgroup, max); }
std::optional<ProcessKey> Sampler::read_process_now(std::int32_t pid) { return impl_->read_process(pid); }
void Sampler::rescan() { impl_->rescan(); }

void Sampler::keep_rescanning(Nanoseconds interval) {
  impl_->loop.remove(impl_->rescan_timer);
  impl_->rescan_timer = impl_->loop.add_periodic(interval, [impl = impl_.get()] { impl->rescan_and_read(); });
}

std::string Sampler::path_of(CgroupId cgroup) const { return impl_->path_of(cgroup); }

LostCounts Sampler::lost() const {
  auto lost = impl_->lost;
  lost[LostStage::kArguments] = impl_->arguments.lost() + impl_->bundles.lost();
  if (impl_->due.dropped() > 0) lost[LostStage::kIdentifyQueue] = impl_->due.dropped();
  return lost;
}

}  // namespace oomw
