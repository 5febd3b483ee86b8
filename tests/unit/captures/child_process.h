// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace oomw {

// A forked child that runs `body` (async-signal-safe calls only: the parent may have threads),
// then sleeps until it is killed. Made once body has returned true; otherwise is_ready() is false.
class ChildProcess {
 public:
  explicit ChildProcess(const std::function<bool()>& body = [] { return true; }) {
    int ends[2] = {-1, -1};
    if (::pipe(ends) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) run_child(body, ends[1]);
    ::close(ends[1]);
    char byte = 0;
    is_ready_ = ::read(ends[0], &byte, 1) == 1 && byte == 'y';
    ::close(ends[0]);
  }
  ~ChildProcess() { kill(); }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] bool is_ready() const { return is_ready_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  [[noreturn]] static void run_child(const std::function<bool()>& body, int ready) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const char answer = body() ? 'y' : 'n';
    if (::write(ready, &answer, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }

  pid_t pid_ = -1;
  bool is_ready_ = false;
};

}  // namespace oomw
