// SPDX-License-Identifier: Apache-2.0
#include "growth/growth_sampler.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <utility>

#include "base/files.h"
#include "base/log.h"
#include "base/thread_setup.h"
#include "base/victim_marks.h"
#include "growth/watched_growth.h"

namespace oomw {
namespace {

constexpr std::uint64_t kMinSlot = 256u << 10, kMaxSlot = 64u << 20;
constexpr Nanoseconds kGonePatience = std::chrono::seconds(10);
// Mapped twice, and counted as ours: 4 MiB once anything nears its limit. No sample was lost with half of it.
constexpr std::size_t kRingBytes = 2u << 20;
constexpr int kPollMs = 200;                                       // samples behind the first come silently
constexpr Nanoseconds kLookPace = std::chrono::milliseconds(150);  // one statm of each process, 5 us

std::uint64_t slot_bytes_of(std::uint64_t limit_bytes) { return std::clamp(limit_bytes / 1024, kMinSlot, kMaxSlot); }

// Resident and of no file; nullopt: it is gone. The kernel's count, which is off by some pages for each CPU.
std::optional<std::uint64_t> anon_bytes_of(const std::string& proc_root, ProcessKey process) {
  if (VictimMarks::has(process.pid)) return std::nullopt;
  const auto text = read_file(proc_root + "/" + std::to_string(process.pid) + "/statm", 4'096);
  if (!text) return std::nullopt;
  std::istringstream fields(*text);
  std::uint64_t size = 0, resident = 0, shared = 0;
  if (!(fields >> size >> resident >> shared)) return std::nullopt;
  return (resident - std::min(shared, resident)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t faults_of(const reader::Reader& reader) {
  const reader::ReaderCounters counters = reader.counters();
  return counters.failed + counters.timeouts + counters.limits;
}

oomw_growth_python to_raw(const PythonLayout& layout) {
  return {.thread_state = layout.thread_state,
          .id_of_thread = layout.id_of_thread,
          .frame_of_thread = layout.frame_of_thread,
          .has_cframe = layout.has_cframe,
          .frame_of_cframe = layout.frame_of_cframe,
          .code_of_frame = layout.code_of_frame,
          .previous_of_frame = layout.previous_of_frame,
          .instruction_of_frame = layout.instruction_of_frame,
          .reserved = 0};
}

}  // namespace

GrowthSampler::GrowthSampler(reader::Reader& reader, MemoryBudget& memory, const Clock& clock, std::string proc_root,
                             Deliver deliver)
    : reader_(reader),
      memory_(memory),
      clock_(clock),
      proc_root_(std::move(proc_root)),
      deliver_(std::move(deliver)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { run(); }) {}

GrowthSampler::~GrowthSampler() {
  is_stopping_ = true;
  (void)::eventfd_write(wake_.get(), 1);
  thread_.join();
}

void GrowthSampler::arm(ProcessKey process, CgroupId cgroup, std::uint64_t limit_bytes, const ShareOwner& owner) {
  GrowthTarget target;
  target.process = process;
  target.cgroup = cgroup;
  target.slot_bytes = slot_bytes_of(limit_bytes);
  if (armed_.size() >= kMaxCommands) armed_.clear();  // forget_gone() finds those that end
  armed_.insert(process);
  push(commands_, Command{Order::kArm, target, owner});
}

void GrowthSampler::kill(ProcessKey process) { push(kills_, process); }

// Of all that end on the node, few were armed: the others would take the places of those.
void GrowthSampler::forget(ProcessKey process) {
  if (armed_.erase(process) == 0) return;
  GrowthTarget target;
  target.process = process;
  push(commands_, Command{Order::kForget, target, {}});
}

template <class T>
void GrowthSampler::push(std::vector<T>& queue, T one) {
  {
    const std::lock_guard lock(mutex_);
    if (queue.size() >= kMaxCommands) {
      ++dropped_;
      return;
    }
    queue.push_back(std::move(one));
  }
  (void)::eventfd_write(wake_.get(), 1);
}

template <class T>
std::vector<T> GrowthSampler::take(std::vector<T>& queue) {
  const std::lock_guard lock(mutex_);
  return std::exchange(queue, {});
}

void GrowthSampler::run() {
  set_up_thread("oomw-growth");
  while (!is_stopping_) {
    wait();
    take_samples();
    obey_commands();
    end_killed();
    deliver_due();
    forget_gone();
    rest_or_resume();
    reader_.tick();
  }
}

void GrowthSampler::wait() {
  pollfd waits[2] = {{wake_.get(), POLLIN, 0}, {programs_ ? programs_->ring_fd() : -1, POLLIN, 0}};
  (void)::poll(waits, 2, watched_.empty() ? 1000 : kPollMs);
  eventfd_t count = 0;
  (void)::eventfd_read(wake_.get(), &count);
}

void GrowthSampler::start(const GrowthTarget& target, const ShareOwner& owner) {
  if (is_refused_) return;
  const auto known = watched_.find(target.process);
  if (known != watched_.end() && !known->second->ended) {
    climbing_.insert(known->second->owner);
    return;
  }
  if (known != watched_.end() && known->second->gone_since) return;
  if (!programs_) {
    auto made = GrowthPrograms::make({.ring_bytes = kRingBytes, .max_processes = kMaxProcesses});
    if (!made) {
      is_refused_ = true;
      return log::warn("growth is not sampled: {}", made.error().message);
    }
    programs_ = std::move(*made);
  }
  // One that had lost its place goes on with what was known of it.
  GrowthTarget wanted = target;
  if (known != watched_.end()) {
    wanted.parked = known->second->parked;
    wanted.slot_bytes = known->second->slot_bytes;
  } else if (watched_.size() >= 2 * kMaxProcesses) {
    forget_one_ended();
  }
  if (!make_room(owner) || !programs_->watch(wanted)) {
    ++dropped_;
    return;
  }
  auto& watched = watched_[target.process];
  if (!watched) watched = std::make_unique<Watched>(target, owner);
  const MonotonicTime now = clock_.now();
  watched->ended.reset();
  watched->is_opened = watched->has_python = false;
  watched->delivered_at = watched->climbed = now;
  programs_->is_attached() ? watched->account.resume(now) : watched->account.rest(now);
  climbing_.insert(owner);
  has_new_ = true;
}

// False: those who have a place keep it. One that loses it is known on, as long as there is room for that.
bool GrowthSampler::make_room(const ShareOwner& newcomer) {
  std::vector<GrowthShares::Place> places;
  for (const auto& [process, watched] : watched_) {
    if (!watched->ended) places.push_back({process, &watched->owner, watched->climbed});
  }
  if (places.size() < kMaxProcesses) return true;
  const GrowthShares::Loser loser = GrowthShares::who_gives(places, newcomer, clock_.now());
  if (loser.is_over_share) note_excess(crowded_, loser.owner);
  if (!loser.process) return false;
  ++dropped_;
  Watched& watched = *watched_.at(*loser.process);
  drain();
  settle(*loser.process, watched);
  deliver(*loser.process, watched, false);
  watched.parked = programs_->parked(*loser.process);
  watched.files.reset();
  stop(*loser.process, watched);
  return true;
}

void GrowthSampler::note_excess(ShareExcess& excess, const ShareOwner& owner) {
  const std::lock_guard lock(mutex_);
  excess.note(owner);
}

void GrowthSampler::add_excesses(ShareExcesses& excesses) const {
  const std::lock_guard lock(mutex_);
  excesses[ShareKind::kGrowthProcesses] = crowded_;
  excesses[ShareKind::kGrowthSeconds] = costly_;
}

void GrowthSampler::end(ProcessKey process, bool is_killed) {
  const auto found = watched_.find(process);
  if (found == watched_.end()) return;
  // Delivered first: unwatching may take 90 ms, and the incident is about to be written.
  settle(process, *found->second);
  if (is_killed) deliver(process, *found->second, true);
  stop(process, *found->second);
  if (is_killed) {
    watched_.erase(found);
  } else if (!found->second->gone_since) {
    found->second->gone_since = clock_.now();
  }
}

// A kill that is reported later finds what is known here.
void GrowthSampler::settle(ProcessKey process, Watched& watched) {
  while (!watched.heads.empty()) name(watched);
  const auto state = programs_->state(process);
  if (watched.ended || !state || !state->has_begun) return;
  watched.account.stand_at(state->slot);
  watched.set_unseen(*state);
}

// Its samples that are still in the ring come to its account.
void GrowthSampler::stop(ProcessKey process, Watched& watched) {
  if (watched.ended) return;
  watched.ended = clock_.now();
  watched.account.rest(*watched.ended);
  programs_->unwatch(process);
}

void GrowthSampler::forget_one_ended() {
  const auto is_earlier = [](const auto& a, const auto& b) {
    return a.second->ended && (!b.second->ended || *a.second->ended < *b.second->ended);
  };
  const auto first = std::ranges::min_element(watched_, is_earlier);
  if (first != watched_.end() && first->second->ended) watched_.erase(first);
}

// Bounded: what comes while the ring is read is read in the next turn.
void GrowthSampler::obey_commands() {
  for (const Command& command : take(commands_)) {
    command.order == Order::kArm ? start(command.target, command.owner) : end(command.target.process, false);
  }
}

void GrowthSampler::take_samples() {
  if (!programs_ || watched_.empty()) return;
  for (int round = 0; round < 8; ++round) {
    drain();
    std::vector<ProcessKey> waiting;
    for (const auto& [process, watched] : watched_) {
      if (!watched->heads.empty()) waiting.push_back(process);
    }
    if (waiting.empty()) return;
    for (const ProcessKey process : waiting) {
      name_all(process);
      obey_commands();  // while several climb, naming takes as long as the next samples need to come
    }
  }
}

// Takes at most what the ring has room for.
void GrowthSampler::drain() {
  std::size_t bytes = 0;
  const auto keep = [&](GrowthPrograms::Record record) {
    bytes += record.size();
    oomw_growth_sample head;
    std::memcpy(&head, record.data(), sizeof(head));
    const ProcessKey key{static_cast<std::int32_t>(head.tgid), head.start_boottime_ns / kNanosecondsPerTick};
    const auto found = watched_.find(key);
    if (found == watched_.end()) return;
    found->second->heads.push_back(head);
    if (head.stack_bytes == 0) return;
    found->second->records.insert(found->second->records.end(), record.begin(), record.end());
  };
  while (bytes < kRingBytes && programs_->drain(keep, Watched::kMaxBatch) > 0) continue;
}

// A kill waits for one batch of those that live.
void GrowthSampler::name_all(ProcessKey process) {
  for (;;) {
    end_killed();
    const auto found = watched_.find(process);
    if (found == watched_.end() || found->second->heads.empty()) return;
    name(*found->second);
  }
}

void GrowthSampler::end_killed() {
  const std::vector<ProcessKey> kills = take(kills_);
  if (std::ranges::any_of(kills, [this](ProcessKey process) { return watched_.contains(process); })) drain();
  for (const ProcessKey process : kills) end(process, true);
}

void GrowthSampler::name(Watched& watched) {
  const Watched::Batch batch = watched.take_batch();
  const auto unwound = read(watched, batch.records);
  if (!unwound) return watched.account.add_unnamed(batch.heads);
  watched.account.add(batch.heads, *unwound);
  // Where the interpreter keeps its frames is proved while it runs; the samples from then on have them.
  const bool is_new = unwound->python.thread_state != 0 && !std::exchange(watched.has_python, true);
  if (is_new) (void)programs_->set_python(watched.process, to_raw(unwound->python));
}

std::optional<UnwoundSamples> GrowthSampler::read(Watched& watched, std::span<const std::byte> records) {
  const MonotonicTime begun = clock_.now();
  if (!shares_.may_read(watched.owner, begun)) {
    note_excess(costly_, watched.owner);
    return std::nullopt;
  }
  const std::uint64_t faults = faults_of(reader_);
  if (!std::exchange(watched.is_opened, true)) {
    watched.files.reset();
    if (auto opened = SampledProcess::open(proc_root_, watched.process)) watched.files.emplace(std::move(*opened));
  }
  std::optional<UnwoundSamples> unwound;
  const std::string owners[] = {to_text(watched.owner)};
  if (watched.files && !records.empty()) {
    if (auto named = watched.files->unwind(records, reader_, &memory_, owners)) unwound = std::move(*named);
  }
  const MonotonicTime now = clock_.now();
  shares_.charge(watched.owner, now - begun, faults_of(reader_) > faults, now);
  return unwound;
}

void GrowthSampler::deliver(ProcessKey process, Watched& watched, bool is_last) {
  if (watched.account.samples() == 0) return;
  if (const auto state = programs_->state(process)) watched.set_unseen(*state);
  watched.delivered_samples = watched.account.samples();
  watched.delivered_at = clock_.now();
  if (!deliver_(watched.account.profile(watched.unsent), watched.owner, is_last)) ++dropped_;
}

// Where the event of an end was lost, the process would be watched for ever. A kill may still be on its way.
void GrowthSampler::forget_gone() {
  for (auto& [process, watched] : watched_) {
    const bool is_there = ::kill(process.pid, 0) == 0 || errno != ESRCH;
    if (!is_there && !watched->gone_since) watched->gone_since = clock_.now();
    if (watched->gone_since && clock_.now() - *watched->gone_since > kGonePatience) stop(process, *watched);
  }
  std::erase_if(watched_, [this](const auto& entry) {
    return entry.second->gone_since && clock_.now() - *entry.second->gone_since > kGonePatience;
  });
}

// All are read: each remembers how high it was.
void GrowthSampler::note_climbs() {
  for (auto& [process, watched] : watched_) {
    const auto anon_bytes = watched->ended ? std::nullopt : anon_bytes_of(proc_root_, process);
    if (!anon_bytes) continue;
    const auto state = watched->has_begun ? std::nullopt : programs_->state(process);
    watched->note_bytes(*anon_bytes, watched->has_begun || (state && state->has_begun), programs_->is_attached());
    if (!watched->climb.climbs(*anon_bytes)) continue;
    watched->climbed = clock_.now();
    climbing_.insert(watched->owner);
  }
}

void GrowthSampler::rest_or_resume() {
  if (!programs_) return;
  const MonotonicTime now = clock_.now();
  if (!std::exchange(has_new_, false) && now - looked_at_ < kLookPace) return;
  looked_at_ = now;
  note_climbs();
  const bool is_attached = programs_->is_attached();
  const bool is_due = rest_.decide(now, is_attached, std::exchange(climbing_, {}));
  if (is_due == is_attached || programs_->watched() == 0) return;
  log::debug("growth: the program {}", is_due ? "is attached again" : "rests");
  if (is_due) return resume(now);
  programs_->rest();
  for (auto& [process, watched] : watched_) watched->account.rest(now);
}

void GrowthSampler::resume(MonotonicTime now) {
  if (const auto resumed = programs_->resume(); !resumed) {
    if (!failures_.take(now)) return;
    ++dropped_;
    return log::warn("growth is not sampled: {}", resumed.error().message);
  }
  for (auto& [process, watched] : watched_) {
    if (!watched->ended) watched->account.resume(now);
  }
}

void GrowthSampler::deliver_due() {
  for (auto& [process, watched] : watched_) {
    const bool is_due = clock_.now() - watched->delivered_at >= kDeliverPace;
    if (is_due && watched->account.samples() != watched->delivered_samples) deliver(process, *watched, false);
  }
}

}  // namespace oomw
