// SPDX-License-Identifier: Apache-2.0
#include "reader/reader.h"

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <optional>
#include <utility>

#include "base/patience.h"
#include "base/rate_limit.h"
#include "base/text.h"
#include "reader/protocol.h"
#include "reader/reader_process.h"

namespace oomw::reader {
namespace {

constexpr Nanoseconds kStartPatience = std::chrono::seconds(2);

tl::unexpected<Failure> fault(Fault kind, ErrorCode code, std::string message) {
  return tl::make_unexpected(Failure{kind, {code, std::move(message)}});
}

// A mutex with a time limit. std::timed_mutex would do, but the sanitizer for threads does not know the call that it
// waits with.
class TimedTurn {
 public:
  [[nodiscard]] bool try_lock() {
    const std::lock_guard lock(mutex_);
    return !std::exchange(is_taken_, true);
  }
  [[nodiscard]] bool try_lock_for(Nanoseconds patience) {
    std::unique_lock lock(mutex_);
    if (!free_.wait_for(lock, patience, [this] { return !is_taken_; })) return false;
    is_taken_ = true;
    return true;
  }
  void unlock() {
    const std::lock_guard lock(mutex_);
    is_taken_ = false;
    free_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable free_;
  bool is_taken_ = false;
};

}  // namespace

struct Reader::Impl {
  Impl(const Clock& the_clock, ReaderConfig the_config) : clock(the_clock), config(std::move(the_config)) {
    if (config.unreaped == nullptr) config.unreaped = &own_unreaped;
  }

  const Clock& clock;
  UnreapedReaders own_unreaped;
  ReaderConfig config;  // does not change
  TimedTurn job_mutex;  // held during a job; protects all but the counters
  std::optional<ReaderProcess> process;
  std::vector<std::string> owners;  // of the job
  std::uint64_t next_number = 1;
  Nanoseconds cpu_of_ended{}, cpu_paid{};  // of processes that are gone; of all, that jobs have paid for
  RateLimit faults{kMaxFaults, kFaultPace};
  MonotonicTime next_start{};
  MonotonicTime idle_since{};
  mutable std::mutex counters_mutex;
  ReaderCounters counters;

  void count(std::uint32_t job, std::uint64_t JobCounts::*result) {
    if (job == kWakeJob) return;
    const std::lock_guard lock(counters_mutex);
    ++(counters.*result);
    ++(counters.by_kind[job].*result);
  }

  // Of a process that has ended, or that nothing can end.
  void forget_process() {
    cpu_of_ended += process->cpu();
    if (const pid_t left = process->take_unreaped(); left > 0) config.unreaped->add(left, owners);
    process.reset();
  }

  void drop_process() {
    if (!process) return;
    (void)process->kill();
    forget_process();
  }

  // By all its processes since the last call: the start of one and what it does after its answer belong to a job, too.
  Nanoseconds take_unpaid_cpu() {
    const Nanoseconds all = cpu_of_ended + (process ? process->cpu() : Nanoseconds{});
    return std::max(all - std::exchange(cpu_paid, all), Nanoseconds::zero());
  }

  tl::unexpected<Failure> refused(std::uint32_t job) {
    count(job, &JobCounts::refused);
    return fault(Fault::kRefused, ErrorCode::kTimeout,
                 "an earlier reading hangs in a file system that does not answer");
  }

  tl::expected<std::string, Failure> broken(std::uint32_t job, Fault kind, ErrorCode code, std::string message) {
    drop_process();
    count(job, kind == Fault::kTimeout ? &JobCounts::timeouts
               : kind == Fault::kLimit ? &JobCounts::limits
                                       : &JobCounts::failed);
    if (!faults.take(clock.now())) next_start = clock.now() + kFaultPace;
    return fault(kind, code, std::move(message));
  }

  // Why no process may be started now, for which the job that asks is not to blame.
  [[nodiscard]] const char* why_none() {
    if (process && !process->has_ended()) return nullptr;
    if (!config.unreaped->has_room()) return "readers hang in files that do not answer";
    return clock.now() < next_start ? "the reader failed too often just now" : nullptr;
  }

  Result<> ensure_process(MonotonicTime deadline) {
    if (process && !process->has_ended()) return {};
    if (const char* why = why_none()) return fail(ErrorCode::kUnavailable, why);
    if (process) forget_process();
    ASSIGN_OR_RETURN(
        process, ReaderProcess::start(config.command, config.idle, patient(kStartPatience), deadline, config.is_ahead));
    idle_since = clock.now();
    const std::lock_guard lock(counters_mutex);
    ++counters.started;
    return {};
  }

  // Sends the job. A process that had just decided to end, being idle, is replaced once.
  Result<> send(const std::string& bytes, std::span<const int> files, MonotonicTime deadline) {
    RETURN_IF_ERROR(ensure_process(deadline));
    auto sent = send_message(process->socket(), bytes, files);
    // Its socket closes a moment before it has ended: kill() waits for that, and a failure costs the process in any
    // case.
    if (sent || !process->kill().is_by_itself) return sent;
    RETURN_IF_ERROR(ensure_process(deadline));
    return send_message(process->socket(), bytes, files);
  }

  tl::expected<std::string, Failure> result_of(std::uint32_t job, Answer answer) {
    idle_since = clock.now();
    switch (answer.status) {
      case Answer::Status::kOk:
        count(job, &JobCounts::done);
        return std::move(answer.payload);
      case Answer::Status::kError:
        count(job, &JobCounts::done);
        return fault(Fault::kNone, answer.code, printable(answer.payload, 1024));
      case Answer::Status::kLimit:
        break;
    }
    // It is whole, but its memory is in pieces.
    return broken(job, Fault::kLimit, ErrorCode::kLimit, "reading it takes more memory than it may");
  }

  tl::expected<std::string, Failure> explain_end(std::uint32_t job) {
    const ProcessEnd end = process->kill();
    if (end.signal == SIGXCPU || end.signal == SIGXFSZ) {
      return broken(job, Fault::kLimit, ErrorCode::kLimit,
                    "reading it takes more than it may: the reader " + end.text());
    }
    return broken(job, Fault::kFailed, ErrorCode::kUnavailable, "the reader " + end.text());
  }

  tl::expected<std::string, Failure> run(std::uint32_t kind, std::string parameters, std::span<const int> files,
                                         Nanoseconds time_limit, MonotonicTime deadline, bool may_repeat) {
    if (const char* why = why_none()) {
      count(kind, &JobCounts::busy);
      return fault(Fault::kBusy, ErrorCode::kUnavailable, why);
    }
    const Job job{kind, next_number++, std::move(parameters)};
    const auto bytes = encode(job);
    if (!bytes) return tl::make_unexpected(Failure{Fault::kNone, bytes.error()});
    if (const auto sent = send(*bytes, files, deadline); !sent) {
      return broken(kind, Fault::kFailed, sent.error().code, sent.error().message);
    }
    if (!process->wait_for_message(time_limit, deadline)) {
      return broken(kind, Fault::kTimeout, ErrorCode::kTimeout, "reading it took too long");
    }
    const auto message = receive_message(process->socket(), 0);
    if (!message) {
      const bool was_idle = message.error().code == ErrorCode::kUnavailable && process->kill().is_by_itself;
      if (was_idle && may_repeat) return run(kind, job.parameters, files, time_limit, deadline, false);
      return explain_end(kind);
    }
    auto answer = decode_answer(message->bytes);
    if (!answer || answer->number != job.number) {
      return broken(kind, Fault::kFailed, ErrorCode::kInternal, "the reader answered something else");
    }
    return result_of(kind, std::move(*answer));
  }
};

Reader::Reader(const Clock& clock, ReaderConfig config) : impl_(new Impl(clock, std::move(config))) {}
Reader::~Reader() = default;

tl::expected<std::string, Failure> Reader::run(std::uint32_t kind, std::string parameters, std::span<const int> files,
                                               Nanoseconds time_limit, MonotonicTime deadline,
                                               std::span<const std::string> owners, Nanoseconds* cpu) {
  if (impl_->config.unreaped->holds(owners)) return impl_->refused(kind);
  const MonotonicTime asked = impl_->clock.now();
  time_limit = patient(time_limit);
  deadline = asked + patient(deadline - asked);
  const std::unique_lock lock(impl_->job_mutex, std::max(deadline - asked, Nanoseconds::zero()));
  if (!lock.owns_lock() || impl_->clock.now() >= deadline) {
    impl_->count(kind, &JobCounts::busy);
    return fault(Fault::kBusy, ErrorCode::kTimeout, "other readings took all the time");
  }
  if (impl_->config.unreaped->holds(owners)) return impl_->refused(kind);  // meanwhile
  impl_->owners.assign(owners.begin(), owners.end());
  auto result = impl_->run(kind, std::move(parameters), files, time_limit, deadline, true);
  const Nanoseconds used = impl_->take_unpaid_cpu();
  if (cpu != nullptr) *cpu += used;
  return result;
}

void Reader::warm_up() {
  const std::unique_lock lock(impl_->job_mutex, std::try_to_lock);
  if (!lock.owns_lock()) return;
  if (!impl_->ensure_process(impl_->clock.now() + 2 * patient(kStartPatience))) return;  // a job reports why it cannot
  const MonotonicTime now = impl_->clock.now();
  if (now - impl_->idle_since < impl_->config.idle / 2) return;
  impl_->owners.clear();
  (void)impl_->run(kWakeJob, "", {}, kStartPatience, now + kStartPatience, false);
}

void Reader::tick() {
  const std::unique_lock lock(impl_->job_mutex, std::try_to_lock);
  if (!lock.owns_lock()) return;
  if (impl_->process && impl_->process->has_ended()) impl_->forget_process();
  impl_->config.unreaped->reap();
}

ReaderCounters Reader::counters() const {
  const std::lock_guard lock(impl_->counters_mutex);
  return impl_->counters;
}

}  // namespace oomw::reader
