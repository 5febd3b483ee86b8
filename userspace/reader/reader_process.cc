// SPDX-License-Identifier: Apache-2.0
#include "reader/reader_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "base/victim_marks.h"
#include "reader/protocol.h"

namespace oomw::reader {
namespace {

constexpr useconds_t kReapPaceUs = 500;

struct SpawnActions {
  posix_spawn_file_actions_t actions;
  SpawnActions() { posix_spawn_file_actions_init(&actions); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
};

struct SpawnAttributes {
  posix_spawnattr_t attributes;
  SpawnAttributes() { posix_spawnattr_init(&attributes); }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
};

// A thread of ours blocks signals that are read from a descriptor.
void reset_signals(posix_spawnattr_t& attributes) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

// posix_spawn() is vfork(): no copy of the daemon's page tables. `socket` is not kSocketFd: that would not survive
// exec.
Result<pid_t> spawn(std::vector<std::string> words, int socket) {
  SpawnActions files;
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&files.actions, fd, "/dev/null", O_RDWR, 0);
  }
  posix_spawn_file_actions_adddup2(&files.actions, socket, kSocketFd);
  const int victims = VictimMarks::fd();
  if (victims >= 0) posix_spawn_file_actions_adddup2(&files.actions, victims, kVictimsFd);
  posix_spawn_file_actions_addclosefrom_np(&files.actions, victims >= 0 ? kVictimsFd + 1 : kSocketFd + 1);
  SpawnAttributes attributes;
  reset_signals(attributes.attributes);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  char* no_environment[] = {nullptr};
  pid_t pid = -1;
  const int error = posix_spawn(&pid, argv[0], &files.actions, &attributes.attributes, argv.data(), no_environment);
  if (error != 0) return fail_errno(error, "start " + words.front());
  return pid;
}

}  // namespace

std::string ProcessEnd::text() const {
  if (signal != 0) return std::string("ended by signal ") + std::to_string(signal);
  return "ended with exit code " + std::to_string(exit_code);
}

Result<ReaderProcess> ReaderProcess::start(const std::vector<std::string>& command, Nanoseconds idle,
                                           Nanoseconds patience, bool is_ahead) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return fail_errno(errno, "socketpair");
  UniqueFd ours(ends[0]), theirs(ends[1]);
  if (theirs.get() == kSocketFd) {
    const int higher = ::fcntl(kSocketFd, F_DUPFD_CLOEXEC, kSocketFd + 1);
    if (higher < 0) return fail_errno(errno, "dup");
    theirs.reset(higher);
  }
  std::vector<std::string> words = command;
  words.push_back(std::to_string(::getpid()));
  words.push_back(std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(idle).count()));
  if (is_ahead) words.emplace_back(kAhead);
  ASSIGN_OR_RETURN(const pid_t pid, spawn(std::move(words), theirs.get()));
  ReaderProcess process(pid, std::move(ours));
  theirs.reset();
  if (!process.wait_for_message(patience)) return fail(ErrorCode::kTimeout, "the reader did not start in time");
  const auto message = receive_message(process.socket(), 0);
  if (!message) return fail(ErrorCode::kUnavailable, "the reader did not start: " + process.kill().text());
  ASSIGN_OR_RETURN(const Answer hello, decode_answer(message->bytes));
  if (hello.status != Answer::Status::kOk) {
    return fail(hello.code, "the reader could not be confined: " + printable(hello.payload));
  }
  return process;
}

ReaderProcess::ReaderProcess(ReaderProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), socket_(std::move(other.socket_)), end_(other.end_) {}

ReaderProcess& ReaderProcess::operator=(ReaderProcess&& other) noexcept {
  if (this == &other) return *this;
  (void)kill();
  pid_ = std::exchange(other.pid_, -1);
  socket_ = std::move(other.socket_);
  end_ = other.end_;
  return *this;
}

bool ReaderProcess::wait_for_message(Nanoseconds patience) const {
  const SystemClock clock;
  const MonotonicTime until = clock.now() + patience;
  pollfd socket{socket_.get(), POLLIN, 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock.now()).count();
    const int ready = ::poll(&socket, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30)));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

void ReaderProcess::note(int status) {
  pid_ = -1;
  end_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  end_.is_by_itself = WIFEXITED(status) && end_.exit_code == 0;
}

bool ReaderProcess::has_ended() {
  int status = 0;
  if (pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) note(status);
  return pid_ < 0;
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
