// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/event_loop.h"
#include "base/slow_readings.h"
#include "events/event.h"

namespace oomw {

// Reads command lines and environments on threads of its own. Both lie in the process's own memory: reading them takes
// its mmap_lock and may fault a page in, and a process can hold up either for as long as it likes (children at idle
// priority held the lock for 33 s; a page of a FUSE file never comes). The core thread must not wait for that.
// Core thread; how it is bounded: SlowReadings. A result is a second ProcessSeen, without a cgroup (the first one, read
// at once, has it) and with all else. A process that shows neither brings none.
class ArgumentReader {
 public:
  static constexpr std::size_t kMaxWaiting = 16'384;  // the walk at the start asks for up to 8,192
  static constexpr std::size_t kMaxPerOwner = 8'192;
  static constexpr unsigned kThreads = 2;
  static constexpr unsigned kSpares = 12;  // containers that may hang before the others' readings do
  static constexpr Nanoseconds kPatience = SlowReadings::kPatience;
  // Later than this the pid may be forgotten, and a report of it would not be noticed as old.
  static constexpr Nanoseconds kMaxAge = std::chrono::seconds(10);

  using Deliver = std::function<void(Event)>;
  // ProcessReader::read_with_arguments, on a worker. It may take for ever, and then outlives this object.
  using Read = std::function<Result<ProcessSeen>(std::int32_t pid, MonotonicTime now)>;

  ArgumentReader(EventLoop& loop, const Clock& clock, Read read, Deliver deliver);

  // owner: see SlowReadings::ask().
  void read(ProcessKey process, const std::string& owner);
  // Readings that were not made, came too late, or hang.
  [[nodiscard]] std::uint64_t lost() const { return readings_.lost(); }

 private:
  struct Functions {
    Read read;
    Deliver deliver;
  };
  const std::shared_ptr<const Functions> functions_;  // thousands of readings may wait
  SlowReadings readings_;
};

}  // namespace oomw
