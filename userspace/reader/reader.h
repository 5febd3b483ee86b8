// SPDX-License-Identifier: Apache-2.0
// The reader: foreign bytes are parsed in a process that may do nothing else, so that what breaks there breaks alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "base/clock.h"
#include "base/enum_names.h"
#include "base/result.h"
#include "reader/unreaped_readers.h"

namespace oomw::reader {

// Why there is no result of a job.
enum class Fault {
  kNone,     // the job ran, and failed by its own judgement
  kBusy,     // other jobs took all the time, or ended so many processes that none is started just now
  kFailed,   // the process ended in the middle of it, could not be started, or answered nonsense
  kTimeout,  // it took longer than it may, and the process was ended
  kLimit,    // it wanted more memory or CPU than it may have
  kRefused,  // an earlier job of the same owners still hangs in a file system that does not answer
};
struct Failure {
  Fault fault = Fault::kNone;
  Error error;
};

struct JobCounts {
  std::uint64_t done = 0;                                                     // answered, if only by an error
  std::uint64_t busy = 0, failed = 0, timeouts = 0, limits = 0, refused = 0;  // by Fault
};
struct ReaderCounters : JobCounts {
  std::uint64_t started = 0;                   // processes
  std::map<std::uint32_t, JobCounts> by_kind;  // of job
};

struct ReaderConfig {
  std::vector<std::string> command = {"/proc/self/exe", "reader"};
  Nanoseconds idle = std::chrono::seconds(60);  // without a job for so long, the process ends
  // At nice -5 instead of 0, where the daemon may: for jobs that a program near its kill waits for.
  bool is_ahead = false;
  UnreapedReaders* unreaped = nullptr;  // shared with other readers, outlives this; null: its own
};

// One reader process, started for the first job and used for the following ones. Jobs of several threads run one after
// the other. After a fault the next job gets a new process; kMaxFaults in a row, then one in kFaultPace, so that a
// container cannot keep the node busy with starting programs.
// Thread-safe. The process ends with the thread that started it (and is started again): use threads that stay.
class Reader {
 public:
  static constexpr int kMaxFaults = 10;
  static constexpr Nanoseconds kFaultPace = std::chrono::seconds(1);

  explicit Reader(const Clock& clock, ReaderConfig config = {});
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Waits for jobs of others until `deadline`; the job itself gets `time_limit`, or what is left until then. Of a job
  // that others keep from running, time_limit is CPU time: leave it room until the deadline.
  // Starting a process takes 45 to 60 ms on a busy machine. files: borrowed; read-only ones, or files in memory that
  // the answer goes into. owners: whose files they are (a container, a file system). While a process that cannot be
  // ended hangs in a file of one of them, their further jobs are refused, so that nobody's files take all processes.
  // cpu: if given, gets the CPU time added that the process used since the job before, also where there is no result: a
  // start and the clearing up after that job are among it. It is the kernel's account, not the process's own word.
  [[nodiscard]] tl::expected<std::string, Failure> run(std::uint32_t kind, std::string parameters,
                                                       std::span<const int> files, Nanoseconds time_limit,
                                                       MonotonicTime deadline, std::span<const std::string> owners = {},
                                                       Nanoseconds* cpu = nullptr);
  // Starts the process ahead of a job, or keeps one that is idle for longer. Any worker; another job's turn is not
  // waited for.
  void warm_up();
  // Reaps a process that ended because it was idle. From time to time, any thread; never waits.
  void tick();
  [[nodiscard]] ReaderCounters counters() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomw::reader

namespace oomw {
template <>
inline constexpr auto kEnumNames<reader::Fault> = std::to_array<std::string_view>({"none", "busy", "failed", "timeout",
                                                                                   "limit", "refused"});
}  // namespace oomw
