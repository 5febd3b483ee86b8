// SPDX-License-Identifier: Apache-2.0
// One small process in each of many cgroups: touches and gives back 16 pages every PERIOD_MS, else sleeps.
// Reads the cgroups' cgroup.procs paths from stdin, one a line; prints "ready" when each has its process;
// they end with it.
//   pulse PERIOD_MS
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kPages = 16;

bool enter(const std::string& procs) {
  const int fd = open(procs.c_str(), O_WRONLY | O_CLOEXEC);
  const bool is_in = fd >= 0 && write(fd, "0", 1) == 1;
  if (fd >= 0) close(fd);
  return is_in;
}

void pulse() {
  void* memory = mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) _exit(3);
  for (std::size_t page = 0; page < kPages; ++page) static_cast<volatile char*>(memory)[page * kPage] = 1;
  munmap(memory, kPages * kPage);
}

[[noreturn]] void live(useconds_t period_us, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  usleep(static_cast<useconds_t>(getpid()) * 7'919U % period_us);  // not all at one moment
  for (;; usleep(period_us)) pulse();
}

}  // namespace

int main(int argc, char** argv) {
  const long period_ms = argc == 2 ? std::atol(argv[1]) : 0;
  if (period_ms <= 0) {
    std::fputs("usage: pulse PERIOD_MS < list of cgroup.procs files\n", stderr);
    return 2;
  }
  const pid_t parent = getpid();
  for (std::string procs; std::getline(std::cin, procs);) {
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0 && enter(procs)) live(static_cast<useconds_t>(period_ms * 1'000), parent);
    if (child == 0) _exit(4);
  }
  std::puts("ready");
  std::fflush(stdout);
  for (;;) pause();
}
