// SPDX-License-Identifier: Apache-2.0
// Anonymous memory that a thread other than the group's leader allocates.
//   threadhog [--rate-mb-s R] [--leader-exits 1]
// Prints "leaking in thread TID" from that thread, then leaks without end at R MB/s (0 = as fast as
// it goes). --leader-exits: the main thread ends first, so that the leader is a zombie without
// memory while the process lives on.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr std::size_t kMegabyte = 1 << 20;

struct Options {
  long rate_mb_s = 0;
  bool leader_exits = false;
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--rate-mb-s") == 0)
      options.rate_mb_s = std::atol(argv[i + 1]);
    else if (std::strcmp(argv[i], "--leader-exits") == 0)
      options.leader_exits = std::atol(argv[i + 1]) != 0;
    else
      return false;
  }
  return argc % 2 == 1;
}

// The leader is one until its state says zombie ("Z" behind the last parenthesis).
bool is_leader_gone() {
  char text[512] = {};
  std::FILE* stat = std::fopen("/proc/self/stat", "r");
  if (stat == nullptr) return false;
  const std::size_t size = std::fread(text, 1, sizeof text - 1, stat);
  std::fclose(stat);
  const char* comm_end = size == 0 ? nullptr : std::strrchr(text, ')');
  return comm_end != nullptr && comm_end[1] == ' ' && comm_end[2] == 'Z';
}

void* leak(void* argument) {
  const Options& options = *static_cast<const Options*>(argument);
  while (options.leader_exits && !is_leader_gone()) usleep(1'000);
  std::printf("leaking in thread %ld\n", syscall(SYS_gettid));
  std::fflush(stdout);
  for (;;) {
    void* memory = mmap(nullptr, kMegabyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) _exit(3);
    std::memset(memory, 0x5a, kMegabyte);
    if (options.rate_mb_s > 0) usleep(static_cast<useconds_t>(1'000'000 / options.rate_mb_s));
  }
}

}  // namespace

int main(int argc, char** argv) {
  static Options options;  // outlives the leader's stack
  if (!parse(argc, argv, options)) {
    std::fputs("usage: threadhog [--rate-mb-s R] [--leader-exits 1]\n", stderr);
    return 2;
  }
  pthread_t thread;
  if (pthread_create(&thread, nullptr, leak, &options) != 0) return 3;
  if (options.leader_exits) pthread_exit(nullptr);
  pthread_join(thread, nullptr);
}
