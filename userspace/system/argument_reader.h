// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/event_loop.h"
#include "base/worker_pool.h"
#include "events/event.h"

namespace oomw {

// Reads command lines and environments on threads of its own. Both lie in the process's own memory: reading them takes
// its mmap_lock and may fault a page in, and a process can hold up either for as long as it likes (children at idle
// priority held the lock for 33 s; a page of a FUSE file never comes). The core thread must not wait for that.
//   - read() and the destructor: core thread. Results are posted to it: a second ProcessSeen, without a cgroup (the
//     first one, read at once, has it) and with all else. A process that shows neither brings none;
//   - one reading at a time for each owner, so a container whose memory hangs holds one thread and its own readings.
//     After kPatience that thread is given up and replaced, kSpares times;
//   - at most kMaxWaiting readings wait, kMaxPerOwner of one owner; further ones, and results later than kMaxAge, are
//     counted in lost().
class ArgumentReader {
 public:
  static constexpr std::size_t kMaxWaiting = 16'384;  // the walk at the start asks for up to 8,192
  static constexpr std::size_t kMaxPerOwner = 8'192;
  static constexpr unsigned kThreads = 2;
  static constexpr unsigned kSpares = 12;  // containers that may hang before the others' readings do
  static constexpr Nanoseconds kPatience = std::chrono::seconds(1);
  // Later than this the pid may be forgotten, and a report of it would not be noticed as old.
  static constexpr Nanoseconds kMaxAge = std::chrono::seconds(10);

  using Deliver = std::function<void(Event)>;
  // ProcessReader::read_with_arguments, on a worker. It may take for ever, and then outlives this object.
  using Read = std::function<Result<ProcessSeen>(std::int32_t pid, MonotonicTime now)>;

  ArgumentReader(EventLoop& loop, const Clock& clock, Read read, Deliver deliver);
  ~ArgumentReader();
  ArgumentReader(const ArgumentReader&) = delete;
  ArgumentReader& operator=(const ArgumentReader&) = delete;

  // owner: who pays for a reading that hangs; any text that containers do not share.
  void read(ProcessKey process, const std::string& owner);
  // Readings that were not made, came too late, or hang.
  [[nodiscard]] std::uint64_t lost() const;

 private:
  struct Shared;

  EventLoop& loop_;
  const Clock& clock_;
  std::shared_ptr<Shared> shared_;  // also held by threads that were given up
  std::unique_ptr<WorkerPool> pool_;
  WatchId relief_;
};

}  // namespace oomw
