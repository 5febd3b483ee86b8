// SPDX-License-Identifier: Apache-2.0
#include "reader/child.h"

#include <malloc.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>
#include <stdexcept>
#include <utility>

#include "base/text.h"
#include "base/victim_marks.h"
#include "reader/protocol.h"

namespace oomw::reader {
namespace {

constexpr int kOk = 0, kBroken = 1;
constexpr int kAheadNice = -5;  // as the threads that ask for inspections; the daemon runs at -10
constexpr long kMostCpuSeconds = 10;

Answer failed(std::uint64_t number, Error error) {
  constexpr std::size_t kMaxText = 1024;
  return {number, Answer::Status::kError, error.code, error.message.substr(0, kMaxText)};
}

Answer answer_to(const Job& job, std::span<const UniqueFd> files, std::span<const JobEntry> jobs) {
  if (job.kind == kWakeJob) return {job.number, Answer::Status::kOk, {}, ""};
  const auto entry = std::ranges::find(jobs, job.kind, &JobEntry::kind);
  if (entry == jobs.end()) return failed(job.number, {ErrorCode::kUnsupported, "no such job"});
  try {
    Result<std::string> result = entry->run(job.parameters, files);
    if (!result) return failed(job.number, std::move(result.error()));
    return {job.number, Answer::Status::kOk, {}, std::move(*result)};
  } catch (const std::bad_alloc&) {
    return {job.number, Answer::Status::kLimit, {}, ""};
  } catch (const std::length_error&) {
    return {job.number, Answer::Status::kLimit, {}, ""};
  } catch (const std::exception& error) {
    return failed(job.number, {ErrorCode::kInternal, error.what()});
  }
}

Result<> send_answer(const Answer& answer) {
  auto bytes = encode(answer);
  if (!bytes) bytes = encode(failed(answer.number, std::move(bytes.error())));
  return send_message(kSocketFd, *bytes, {});
}

bool has_used_its_time() {
  rusage usage{};
  return ::getrusage(RUSAGE_SELF, &usage) == 0 && usage.ru_utime.tv_sec + usage.ru_stime.tv_sec >= kMostCpuSeconds;
}

bool wait_for_job(int idle_ms) {
  pollfd socket{kSocketFd, POLLIN, 0};
  int ready = -1;
  do {
    ready = ::poll(&socket, 1, idle_ms);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

int serve(std::span<const JobEntry> jobs, int idle_ms) {
  while (!has_used_its_time() && wait_for_job(idle_ms)) {
    {
      const auto message = receive_message(kSocketFd, kMaxFiles);
      if (!message) return message.error().code == ErrorCode::kUnavailable ? kOk : kBroken;
      const auto job = decode_job(message->bytes);
      if (!job || !send_answer(answer_to(*job, message->files, jobs))) return kBroken;
    }
    ::malloc_trim(0);
  }
  return kOk;
}

}  // namespace

int run_child(int argc, const char* const* argv, std::span<const JobEntry> jobs, const SandboxLimits& limits) {
  const auto parent = argc > 2 ? parse_u64(argv[2]) : std::nullopt;
  const auto idle_ms = argc > 3 ? parse_u64(argv[3]) : std::nullopt;
  if (!parent || !idle_ms) return kBroken;
  SandboxLimits own = limits;
  if (argc > 4 && std::string_view(argv[4]) == kAhead) own.nice = kAheadNice;
  // One arena, and large pieces go back to the system at once: a sum that jumps about would need the limit twice.
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
  // Fails where the daemon has none.
  (void)VictimMarks::attach(kVictimsFd);
  const Result<> confined = confine(kSocketFd, static_cast<int>(*parent), own);
  // The first message says whether it is confined, before it has read anything.
  const Answer hello = confined ? Answer{} : failed(0, confined.error());
  if (!send_answer(hello) || !confined) return kBroken;
  // Without handlers at the end: a sanitizer's would look for leaks, which the filter refuses, and change the exit
  // code.
  ::_exit(serve(jobs, static_cast<int>(std::min<std::uint64_t>(*idle_ms, 1u << 30))));
}

}  // namespace oomw::reader
