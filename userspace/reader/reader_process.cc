// SPDX-License-Identifier: Apache-2.0
#include "reader/reader_process.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "base/files.h"
#include "base/proc_stat.h"
#include "base/spawn.h"
#include "base/text.h"
#include "base/victim_marks.h"
#include "reader/protocol.h"

namespace oomw::reader {
namespace {

constexpr useconds_t kReapPaceUs = 500;

Nanoseconds duration_of(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

}  // namespace

std::string ProcessEnd::text() const {
  if (signal != 0) return std::string("ended by signal ") + std::to_string(signal);
  return "ended with exit code " + std::to_string(exit_code);
}

Result<ReaderProcess> ReaderProcess::start(const std::vector<std::string>& command, Nanoseconds idle,
                                           Nanoseconds patience, MonotonicTime deadline, bool is_ahead) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return fail_errno(errno, "socketpair");
  UniqueFd ours(ends[0]), theirs(ends[1]);
  std::vector<std::string> words = command;
  words.push_back(std::to_string(::getpid()));
  words.push_back(std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(idle).count()));
  if (is_ahead) words.emplace_back(kAhead);
  static_assert(kSocketFd == kFirstGivenFd && kVictimsFd == kFirstGivenFd + 1);
  std::vector<int> given = {theirs.get()};
  if (VictimMarks::fd() >= 0) given.push_back(VictimMarks::fd());
  ASSIGN_OR_RETURN(const pid_t pid, spawn_alone(std::move(words), given));
  ReaderProcess process(pid, std::move(ours));
  theirs.reset();
  if (!process.wait_for_message(patience, deadline)) {
    return fail(ErrorCode::kTimeout, "the reader did not start in time");
  }
  const auto message = receive_message(process.socket(), 0);
  if (!message) return fail(ErrorCode::kUnavailable, "the reader did not start: " + process.kill().text());
  ASSIGN_OR_RETURN(const Answer hello, decode_answer(message->bytes));
  if (hello.status != Answer::Status::kOk) {
    return fail(hello.code, "the reader could not be confined: " + printable(hello.payload));
  }
  return process;
}

ReaderProcess::ReaderProcess(ReaderProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), socket_(std::move(other.socket_)), end_(other.end_), cpu_(other.cpu_) {}

ReaderProcess& ReaderProcess::operator=(ReaderProcess&& other) noexcept {
  if (this == &other) return *this;
  (void)kill();
  pid_ = std::exchange(other.pid_, -1);
  socket_ = std::move(other.socket_);
  end_ = other.end_;
  cpu_ = other.cpu_;
  return *this;
}

bool ReaderProcess::wait_for_message(Nanoseconds patience, MonotonicTime deadline) const {
  const SystemClock clock;
  const Nanoseconds cpu_before = cpu();
  MonotonicTime until = std::min(clock.now() + patience, deadline);
  pollfd socket{socket_.get(), POLLIN, 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock.now()).count();
    const int ready = ::poll(&socket, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30)));
    if (ready > 0) return true;
    if (ready < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    const Nanoseconds unused = patience - (cpu() - cpu_before);
    if (clock.now() >= deadline || unused <= Nanoseconds::zero() || !wants_to_run()) return false;
    until = std::min(clock.now() + unused, deadline);
  }
}

bool ReaderProcess::wants_to_run() const {
  const auto text = read_file("/proc/" + std::to_string(pid_) + "/stat", ProcStat::kMaxBytes);
  return text && ProcStat(*text).state() == 'R';
}

void ReaderProcess::note(int status) {
  pid_ = -1;
  end_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  end_.is_by_itself = WIFEXITED(status) && end_.exit_code == 0;
}

bool ReaderProcess::has_ended() {
  int status = 0;
  rusage usage{};
  if (pid_ > 0 && ::wait4(pid_, &status, WNOHANG, &usage) == pid_) {
    note(status);
    cpu_ = duration_of(usage.ru_utime) + duration_of(usage.ru_stime);
  }
  return pid_ < 0;
}

Nanoseconds ReaderProcess::cpu() const {
  clockid_t clock{};
  timespec used{};
  if (pid_ < 0 || ::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return cpu_;
  return std::chrono::seconds(used.tv_sec) + Nanoseconds(used.tv_nsec);
}

ProcessEnd ReaderProcess::kill() {
  if (has_ended()) return end_;
  ::kill(pid_, SIGKILL);
  const SystemClock clock;
  const MonotonicTime until = clock.now() + kReapTime;
  while (!has_ended() && clock.now() < until) ::usleep(kReapPaceUs);
  if (pid_ > 0) end_.signal = SIGKILL;
  return end_;
}

}  // namespace oomw::reader
