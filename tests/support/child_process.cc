// SPDX-License-Identifier: Apache-2.0
#include "support/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/files.h"
#include "base/proc_stat.h"
#include "base/result.h"

namespace oomw::test {

namespace {

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

Pipe make_pipe() {
  int fds[2];
  OOMW_CHECK(::pipe2(fds, O_CLOEXEC) == 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

bool read_byte(int fd) {
  char byte = 0;
  return ::read(fd, &byte, 1) == 1;
}

bool write_byte(int fd) { return ::write(fd, "x", 1) == 1; }

}  // namespace

ChildProcess::ChildProcess(const TestCgroup* cgroup, std::function<int()> body) {
  Pipe go = make_pipe();
  Pipe ready = make_pipe();
  pid_ = ::fork();
  OOMW_CHECK(pid_ >= 0);
  if (pid_ == 0) {
    go.write_end.reset();
    run(cgroup, body, go.read_end.get(), ready.write_end.get());
  }
  ready.write_end.reset();
  OOMW_CHECK(read_byte(ready.read_end.get()));
  start_ticks_ = read_start_ticks(pid_);
  go_ = std::move(go.write_end);
}

void ChildProcess::run(const TestCgroup* cgroup, const std::function<int()>& body, int go_fd, int ready_fd) {
  if (cgroup != nullptr) cgroup->enter();
  if (!write_byte(ready_fd)) ::_exit(125);
  if (!read_byte(go_fd)) ::_exit(126);  // the test ended without go()
  ::_exit(body());
}

ChildProcess::~ChildProcess() {
  if (reaped_) return;
  ::kill(pid_, SIGKILL);
  wait();
}

void ChildProcess::go() { OOMW_CHECK(write_byte(go_.get())); }

int ChildProcess::wait() {
  if (!reaped_) {
    while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    reaped_ = true;
  }
  return status_;
}

void touch_memory(std::size_t bytes, std::size_t step_bytes, int step_delay_us) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  OOMW_CHECK(memory != MAP_FAILED);
  ::madvise(memory, bytes, MADV_NOHUGEPAGE);
  for (std::size_t done = 0; done < bytes; done += step_bytes) {
    std::memset(static_cast<char*>(memory) + done, 1, std::min(step_bytes, bytes - done));
    if (step_delay_us > 0) ::usleep(static_cast<useconds_t>(step_delay_us));
  }
}

std::uint64_t read_start_ticks(pid_t pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat", ProcStat::kMaxBytes).value_or("");
  return ProcStat(stat).start_ticks().value_or(0);
}

void write_oom_score_adj(int value) {
  std::ofstream file("/proc/self/oom_score_adj");
  file << value << std::flush;
  OOMW_CHECK(file.good());
}

}  // namespace oomw::test
