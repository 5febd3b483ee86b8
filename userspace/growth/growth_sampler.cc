// SPDX-License-Identifier: Apache-2.0
#include "growth/growth_sampler.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <sstream>
#include <utility>

#include "base/files.h"
#include "base/log.h"
#include "base/thread_setup.h"
#include "base/victim_marks.h"
#include "growth/unwound.h"

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

struct GrowthSampler::Watched {
  Watched(const GrowthTarget& target, ShareOwner whose)
      : account(target.process, target.cgroup), process(target.process), owner(std::move(whose)) {}

  GrowthAccount account;
  ProcessKey process;
  ShareOwner owner;
  std::optional<SampledProcess> files;  // from the first sample on
  bool is_opened = false;
  bool has_python = false;
  GrowthClimb climb;
  // Of this batch: the heads, and the records one after the other.
  std::vector<oomw_growth_sample> heads;
  std::vector<std::byte> records;
  std::uint64_t delivered_samples = 0;
  MonotonicTime delivered_at;
  std::uint64_t unsent = 0;
  bool is_ended = false;                    // the kernel's half knows it no more
  std::optional<MonotonicTime> gone_since;  // it has ended, and no kill was reported
};

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
  push({Order::kArm, target, owner});
}

void GrowthSampler::kill(ProcessKey process) {
  Command command{Order::kKill, {}, {}};
  command.target.process = process;
  push(std::move(command));
}

void GrowthSampler::forget(ProcessKey process) {
  Command command{Order::kForget, {}, {}};
  command.target.process = process;
  push(std::move(command));
}

void GrowthSampler::push(Command command) {
  {
    const std::lock_guard lock(mutex_);
    if (commands_.size() >= kMaxCommands) {
      ++dropped_;
      return;
    }
    commands_.push_back(std::move(command));
  }
  (void)::eventfd_write(wake_.get(), 1);
}

void GrowthSampler::run() {
  set_up_thread("oomw-growth");
  while (!is_stopping_) {
    wait();
    const std::vector<Command> commands = take_commands(false);
    take_samples();
    for (const Command& command : commands) obey(command);
    deliver_due();
    forget_gone();
    rest_or_resume();
    reader_.tick();
  }
}

// In the order in which they came. Ends need all samples that came before them, and starts none: while several
// processes climb, naming their samples takes as long as the next ones need to come, and the ring is not empty for
// seconds.
std::vector<GrowthSampler::Command> GrowthSampler::take_commands(bool only_starts) {
  const std::lock_guard lock(mutex_);
  const auto is_end = [](const Command& command) { return command.order != Order::kArm; };
  const auto end = only_starts ? std::ranges::find_if(commands_, is_end) : commands_.end();
  std::vector<Command> taken(std::make_move_iterator(commands_.begin()), std::make_move_iterator(end));
  commands_.erase(commands_.begin(), end);
  return taken;
}

void GrowthSampler::wait() {
  pollfd waits[2] = {{wake_.get(), POLLIN, 0}, {programs_ ? programs_->ring_fd() : -1, POLLIN, 0}};
  (void)::poll(waits, 2, watched_.empty() ? 1000 : kPollMs);
  eventfd_t count = 0;
  (void)::eventfd_read(wake_.get(), &count);
}

void GrowthSampler::obey(const Command& command) {
  if (command.order == Order::kArm) return start(command.target, command.owner);
  end(command.target.process, command.order == Order::kKill);
}

void GrowthSampler::start(const GrowthTarget& target, const ShareOwner& owner) {
  has_new_climb_ = true;
  if (is_refused_ || watched_.contains(target.process)) return;
  if (watched_.size() >= kMaxProcesses) forget_ended();
  if (!programs_) {
    auto made = GrowthPrograms::make({.ring_bytes = kRingBytes, .max_processes = kMaxProcesses});
    if (!made) {
      is_refused_ = true;
      return log::warn("growth is not sampled: {}", made.error().message);
    }
    programs_ = std::move(*made);
  }
  if (watched_.size() >= kMaxProcesses || !programs_->watch(target)) {
    ++dropped_;
    return;
  }
  auto watched = std::make_unique<Watched>(target, owner);
  watched->delivered_at = clock_.now();
  watched_.emplace(target.process, std::move(watched));
  note_resumed();  // watching another one ends a rest
}

void GrowthSampler::note_resumed() {
  for (auto& [process, watched] : watched_) watched->account.resume(clock_.now());
}

void GrowthSampler::end(ProcessKey process, bool is_killed) {
  const auto found = watched_.find(process);
  if (found == watched_.end()) return;
  // Delivered first: unwatching may take 90 ms, and the incident is about to be written.
  stand_at_end(process, *found->second);
  if (is_killed) deliver(process, *found->second, true);
  stop(process, *found->second);
  if (is_killed) {
    watched_.erase(found);
  } else if (!found->second->gone_since) {
    found->second->gone_since = clock_.now();
  }
}

// A kill that is reported later finds what is known here.
void GrowthSampler::stand_at_end(ProcessKey process, Watched& watched) {
  const auto state = programs_->state(process);
  if (watched.is_ended || !state || !state->has_begun) return;
  watched.account.stand_at(state->slot);
  watched.account.set_unseen(state->unseen);
  watched.unsent = state->over_budget + state->ring_full;
}

void GrowthSampler::stop(ProcessKey process, Watched& watched) {
  if (std::exchange(watched.is_ended, true)) return;
  programs_->unwatch(process);
}

void GrowthSampler::forget_ended() {
  std::erase_if(watched_, [](const auto& entry) { return entry.second->is_ended; });
}

// Bounded: what comes while the ring is read is read in the next turn.
void GrowthSampler::take_samples() {
  if (!programs_ || watched_.empty()) return;
  constexpr int kMaxBatches = 256;
  const auto keep = [this](GrowthPrograms::Record record) {
    oomw_growth_sample head;
    std::memcpy(&head, record.data(), sizeof(head));
    const ProcessKey key{static_cast<std::int32_t>(head.tgid), head.start_boottime_ns / kNanosecondsPerTick};
    const auto found = watched_.find(key);
    if (found == watched_.end()) return;
    found->second->heads.push_back(head);
    if (head.stack_bytes == 0) return;
    found->second->records.insert(found->second->records.end(), record.begin(), record.end());
  };
  for (int batch = 0; batch < kMaxBatches && programs_->drain(keep, kMaxBatch) > 0; ++batch) {
    for (auto& [process, watched] : watched_) name(*watched);
    for (const Command& command : take_commands(true)) obey(command);
  }
}

void GrowthSampler::name(Watched& watched) {
  if (watched.heads.empty()) return;
  if (!std::exchange(watched.is_opened, true)) {
    auto opened = SampledProcess::open(proc_root_, watched.process);
    if (opened) watched.files.emplace(std::move(*opened));
  }
  std::optional<UnwoundSamples> unwound;
  if (watched.files && !watched.records.empty()) {
    if (auto named = watched.files->unwind(watched.records, reader_, &memory_)) unwound = std::move(*named);
  }
  if (unwound) {
    watched.account.add(watched.heads, *unwound);
    // Where the interpreter keeps its frames is proved while it runs; the samples from then on have them.
    const bool is_new = unwound->python.thread_state != 0 && !std::exchange(watched.has_python, true);
    if (is_new) (void)programs_->set_python(watched.process, to_raw(unwound->python));
  } else {
    watched.account.add_unnamed(watched.heads);
  }
  watched.heads.clear();
  watched.records.clear();
}

void GrowthSampler::deliver(ProcessKey process, Watched& watched, bool is_last) {
  if (watched.account.samples() == 0) return;
  if (const auto state = programs_->state(process)) {
    watched.account.set_unseen(state->unseen);
    watched.unsent = state->over_budget + state->ring_full;
  }
  watched.delivered_samples = watched.account.samples();
  watched.delivered_at = clock_.now();
  if (!deliver_(watched.account.profile(watched.unsent), watched.owner, is_last)) ++dropped_;
}

// Where the event of an end was lost, the process would be watched for ever. A kill may still be on its way.
void GrowthSampler::forget_gone() {
  for (auto& [process, watched] : watched_) {
    const bool is_there = watched->is_ended || ::kill(process.pid, 0) == 0 || errno != ESRCH;
    if (!is_there && !watched->gone_since) watched->gone_since = clock_.now();
    if (watched->gone_since && clock_.now() - *watched->gone_since > kGonePatience) stop(process, *watched);
  }
  std::erase_if(watched_, [this](const auto& entry) {
    return entry.second->gone_since && clock_.now() - *entry.second->gone_since > kGonePatience;
  });
}

// All are read: each remembers how high it was.
bool GrowthSampler::has_climbed() {
  bool has_climbed = std::exchange(has_new_climb_, false);
  for (auto& [process, watched] : watched_) {
    if (watched->is_ended) continue;
    const auto anon_bytes = anon_bytes_of(proc_root_, process);
    if (anon_bytes && watched->climb.climbs(*anon_bytes)) has_climbed = true;
  }
  return has_climbed;
}

void GrowthSampler::rest_or_resume() {
  if (!programs_) return;
  const MonotonicTime now = clock_.now();
  if (now - looked_at_ < kLookPace) return;
  looked_at_ = now;
  const bool is_attached = programs_->is_attached();
  const bool is_due = rest_.decide(now, is_attached, has_climbed());
  if (is_due == is_attached || watched_.empty()) return;
  log::debug("growth: the program {}", is_due ? "is attached again" : "rests");
  if (is_due) {
    if (const auto resumed = programs_->resume(); !resumed) return log::warn("growth: {}", resumed.error().message);
    return note_resumed();
  }
  programs_->rest();
  for (auto& [process, watched] : watched_) watched->account.rest(now);
}

void GrowthSampler::deliver_due() {
  for (auto& [process, watched] : watched_) {
    const bool is_due = clock_.now() - watched->delivered_at >= kDeliverPace;
    if (is_due && watched->account.samples() != watched->delivered_samples) deliver(process, *watched, false);
  }
}

}  // namespace oomw
