// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/event_loop.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "base/worker_pool.h"
#include "system/cgroup_fs.h"

namespace oomw {

// Asks the kernel (v1) to announce when a cgroup's usage passes given levels. Registering a level takes an RCU grace
// period (7 ms; 80 ms for a limit's eleven), so 411 cgroups at start-up took 30 s. So workers register them and bring
// the answer back to the loop. Several registrations at once share grace periods.
// Core thread; loop and cgroups outlive it. Nothing is called back after its destruction.
class LevelRegistrar {
 public:
  static constexpr unsigned kWorkers = 4;

  struct Announced {
    UniqueFd usage;
    UniqueFd event;  // eventfd; closing it unregisters the levels
  };
  using Done = std::function<void(Result<std::shared_ptr<Announced>>)>;

  LevelRegistrar(EventLoop& loop, const CgroupFs& cgroups, std::size_t max_waiting);
  ~LevelRegistrar();
  LevelRegistrar(const LevelRegistrar&) = delete;
  LevelRegistrar& operator=(const LevelRegistrar&) = delete;

  // False: too many are waiting. `done` is called from the loop.
  [[nodiscard]] bool post(CgroupId id, const std::string& path, std::vector<std::uint64_t> levels_bytes, Done done);

 private:
  [[nodiscard]] Result<std::shared_ptr<Announced>> announce(CgroupId id, const std::string& path,
                                                            const std::vector<std::uint64_t>& levels_bytes) const;
  void answer(const EventLoop::Task& task) const;

  EventLoop& loop_;
  const CgroupFs& cgroups_;
  std::shared_ptr<std::atomic<bool>> is_over_ = std::make_shared<std::atomic<bool>>(false);
  WorkerPool workers_;  // last: joined before the members that its tasks use are gone
};

}  // namespace oomw
