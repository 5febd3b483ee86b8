// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/fair_share.h"
#include "base/memory_budget.h"
#include "base/rate_limit.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "events/growth_profile.h"
#include "events/share_kind.h"
#include "growth/growth_account.h"
#include "growth/growth_rest.h"
#include "growth/growth_shares.h"
#include "growth/unwound.h"
#include "kernel/growth_programs.h"
#include "reader/reader.h"

namespace oomw {

struct WatchedGrowth;

// Samples the growth of processes whose container nears its limit, and delivers what is known of each as a
// GrowthProfile: every kDeliverPace while it grows, and when it has been killed.
//   - The program is loaded at the first process, by a thread of its own, which also reads the ring and waits for the
//     reader process: neither a kill nor a page fault waits for a name.
//   - Between its climbs the program rests (GrowthRest); what a process grew by meanwhile is in a note of the profile.
//   - A process's files are opened at its first sample, so samples are named after its death too.
//   - At most kMaxProcesses at a time, and GrowthTarget's bytes a second for each container. What finds no room, and
//     profiles that could not be delivered, are counted in dropped().
//   - Containers share these places, the time that the program is attached and the reader (GrowthShares, GrowthRest).
//     What is known of a process that lost its place is kept, for its kill or until it has one again, as long as there
//     are no more than kMaxProcesses such. Samples of one that takes too long to read have no names. A kill waits for
//     one batch, 64 samples, of those that live.
// arm(), kill() and forget() are for one thread and never block.
class GrowthSampler {
 public:
  static constexpr std::size_t kMaxProcesses = 32, kMaxCommands = 1'024;
  static constexpr Nanoseconds kDeliverPace = std::chrono::seconds(1);
  // On the sampler's thread; false: not delivered. is_last: after the kill.
  using Deliver = std::function<bool(GrowthProfile, const ShareOwner& owner, bool is_last)>;

  // What is passed by reference outlives this. Only this uses `reader`.
  GrowthSampler(reader::Reader& reader, MemoryBudget& memory, const Clock& clock, std::string proc_root,
                Deliver deliver);
  ~GrowthSampler();  // waits for what is under way
  GrowthSampler(const GrowthSampler&) = delete;
  GrowthSampler& operator=(const GrowthSampler&) = delete;

  // `cgroup`: whose limit of `limit_bytes` is near. A process that is sampled already goes on.
  void arm(ProcessKey process, CgroupId cgroup, std::uint64_t limit_bytes, const ShareOwner& owner);
  void kill(ProcessKey process);    // by the OOM killer
  void forget(ProcessKey process);  // it has ended: a kill of it may still be reported, for 10 s
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  void add_excesses(ShareExcesses& excesses) const;  // any thread

 private:
  enum class Order { kArm, kForget };
  struct Command {
    Order order;
    GrowthTarget target;
    ShareOwner owner;
  };
  using Watched = WatchedGrowth;

  template <class T>
  void push(std::vector<T>& queue, T one);
  template <class T>
  [[nodiscard]] std::vector<T> take(std::vector<T>& queue);
  void run();
  void wait();
  void start(const GrowthTarget& target, const ShareOwner& owner);
  void end(ProcessKey process, bool is_killed);
  void settle(ProcessKey process, Watched& watched);
  void stop(ProcessKey process, Watched& watched);
  void forget_one_ended();
  [[nodiscard]] bool make_room(const ShareOwner& newcomer);
  void note_excess(ShareExcess& excess, const ShareOwner& owner);
  void obey_commands();
  void take_samples();
  void drain();
  void name_all(ProcessKey process);
  void end_killed();
  void name(Watched& watched);
  [[nodiscard]] std::optional<UnwoundSamples> read(Watched& watched, std::span<const std::byte> records);
  void deliver(ProcessKey process, Watched& watched, bool is_last);
  void deliver_due();
  void forget_gone();
  void rest_or_resume();
  void resume(MonotonicTime now);
  void note_climbs();

  reader::Reader& reader_;
  MemoryBudget& memory_;
  const Clock& clock_;
  const std::string proc_root_;
  Deliver deliver_;
  std::atomic<std::uint64_t> dropped_ = 0;
  std::atomic<bool> is_stopping_ = false;
  std::set<ProcessKey> armed_;  // of the caller's thread: whose end matters
  mutable std::mutex mutex_;
  std::vector<Command> commands_;
  std::vector<ProcessKey> kills_;  // come first
  ShareExcess crowded_, costly_;   // places, time of the reader
  UniqueFd wake_;
  // The thread's own.
  std::unique_ptr<GrowthPrograms> programs_;
  bool is_refused_ = false;
  GrowthRest rest_;
  GrowthShares shares_;
  std::set<ShareOwner> climbing_;  // since the last decision of rest_
  bool has_new_ = false;           // one that was armed since then
  MonotonicTime looked_at_;
  RateLimit failures_{1, std::chrono::minutes(1)};  // of attaching
  std::map<ProcessKey, std::unique_ptr<Watched>> watched_;
  std::thread thread_;
};

}  // namespace oomw
