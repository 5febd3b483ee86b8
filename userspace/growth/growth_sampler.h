// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/fair_share.h"
#include "base/memory_budget.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "events/growth_profile.h"
#include "growth/growth_account.h"
#include "growth/growth_rest.h"
#include "growth/unwound.h"
#include "kernel/growth_programs.h"
#include "reader/reader.h"

namespace oomw {

// Samples the growth of processes whose container nears its limit, and delivers what is known of each as a
// GrowthProfile: every kDeliverPace while it grows, and when it has been killed.
//   - The program is loaded at the first process, by a thread of its own, which also reads the ring and waits for the
//     reader process: neither a kill nor a page fault waits for a name.
//   - Between its climbs the program rests (GrowthRest); what a process grew by meanwhile is in a note of the profile.
//   - A process's files are opened at its first sample, so samples are named after its death too.
//   - At most kMaxProcesses at a time, and GrowthTarget's bytes a second for each container. What finds no room, and
//     profiles that could not be delivered, are counted in dropped().
// arm(), kill() and forget() are for one thread and never block.
class GrowthSampler {
 public:
  static constexpr std::size_t kMaxProcesses = 32, kMaxCommands = 1'024, kMaxBatch = 64;
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

 private:
  enum class Order { kArm, kKill, kForget };
  struct Command {
    Order order;
    GrowthTarget target;
    ShareOwner owner;
  };
  struct Watched;

  void push(Command command);
  void run();
  void wait();
  [[nodiscard]] std::vector<Command> take_commands(bool only_starts);
  void obey(const Command& command);
  void start(const GrowthTarget& target, const ShareOwner& owner);
  void end(ProcessKey process, bool is_killed);
  void stand_at_end(ProcessKey process, Watched& watched);
  void stop(ProcessKey process, Watched& watched);
  void forget_ended();
  void take_samples();
  void name(Watched& watched);
  void deliver(ProcessKey process, Watched& watched, bool is_last);
  void deliver_due();
  void forget_gone();
  void rest_or_resume();
  void note_resumed();
  [[nodiscard]] bool has_climbed();

  reader::Reader& reader_;
  MemoryBudget& memory_;
  const Clock& clock_;
  const std::string proc_root_;
  Deliver deliver_;
  std::atomic<std::uint64_t> dropped_ = 0;
  std::atomic<bool> is_stopping_ = false;
  std::mutex mutex_;
  std::vector<Command> commands_;
  UniqueFd wake_;
  // The thread's own.
  std::unique_ptr<GrowthPrograms> programs_;
  bool is_refused_ = false;
  GrowthRest rest_;
  bool has_new_climb_ = false;  // a level was crossed
  MonotonicTime looked_at_;
  std::map<ProcessKey, std::unique_ptr<Watched>> watched_;
  std::thread thread_;
};

}  // namespace oomw
