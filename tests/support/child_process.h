// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>

#include "base/unique_fd.h"
#include "events/ids.h"
#include "support/test_cgroup.h"

namespace oomw::test {

// A forked child that enters a cgroup, then waits for go() before it runs its body: the test
// knows its pid and start time before anything happens. Killed and reaped at the end.
class ChildProcess {
 public:
  // cgroup null: stays where the test is. body runs in the child; its result is the exit code.
  ChildProcess(const TestCgroup* cgroup, std::function<int()> body);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void go();
  int wait();  // wait(2) status
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] ProcessKey key() const { return {pid_, start_ticks_}; }

 private:
  [[noreturn]] void run(const TestCgroup* cgroup, const std::function<int()>& body, int go_fd, int ready_fd);

  pid_t pid_ = -1;
  std::uint64_t start_ticks_ = 0;
  UniqueFd go_;
  int status_ = 0;
  bool reaped_ = false;
};

// Touches `bytes` of fresh private memory in steps, sleeping between them; never frees. Small pages: where the kernel
// gives huge ones unasked (Debian's 5.10 and 6.1 do), one is more than 5 % of a 32 MiB limit and jumps over a level.
void touch_memory(std::size_t bytes, std::size_t step_bytes = 256u << 10, int step_delay_us = 0);
// Field 22 of /proc/PID/stat; 0 when gone.
[[nodiscard]] std::uint64_t read_start_ticks(pid_t pid);
void write_oom_score_adj(int value);  // of the calling process

}  // namespace oomw::test
