// SPDX-License-Identifier: Apache-2.0
// lock_holder GO_FILE: children of idle priority share this process's memory and take its mmap_lock for writing, again
// and again, for long: each fork copies 45,000 mappings, 100 ms of CPU time. Others of ordinary priority take the CPUs
// from them, so that a lock once taken is not given back for seconds. When GO_FILE exists, the process grows until it
// is killed.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  kPage = 4096,
  kMappings = 45000,
  kTouchEach = 9,
  kStackBytes = 64 << 10,
  kHolders = 2,
  kSpinners = 4,
  kSpinMs = 8000
};

static char* area;

static int hold(void* unused) {
  (void)unused;
  struct sched_param param = {0};
  sched_setscheduler(0, SCHED_IDLE, &param);
  for (;;) {
    const pid_t pid = (pid_t)syscall(SYS_fork);
    if (pid == 0) syscall(SYS_exit, 0);
    while (syscall(SYS_wait4, -1, NULL, 0, NULL) > 0) {
    }
  }
  return 0;
}

static void spin(void) {
  alarm(kSpinMs / 1000);  // and no longer, whatever becomes of the test
  for (volatile unsigned i = 0;; ++i) {
  }
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  // Whoever is killed has never run exec: nobody has had a reason to read its command line yet.
  if (fork() != 0) return wait(NULL) < 0;
  area = mmap(NULL, (size_t)kMappings * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (area == MAP_FAILED) return 1;
  // Every second page differs from its neighbours for good, so that they are never joined to one mapping.
  for (size_t i = 0; i < kMappings; i += 2) madvise(area + i * kPage, kPage, MADV_DONTDUMP);
  // Where pages are there, the kernel looks for a more important task to run: with the lock held.
  mprotect(area, (size_t)kMappings * kPage, PROT_READ | PROT_WRITE);
  for (size_t i = 0; i < kMappings; i += kTouchEach) area[i * kPage] = 1;
  for (int i = 0; i < kHolders; ++i) {
    char* stack = malloc(kStackBytes);
    if (clone(hold, stack + kStackBytes, CLONE_VM | SIGCHLD, NULL) < 0) return 1;
  }
  puts("ready");
  fflush(stdout);
  while (access(argv[1], F_OK) != 0) usleep(10000);
  for (int i = 0; i < kSpinners; ++i) {
    const pid_t pid = fork();
    if (pid == 0) spin();
  }
  usleep(300000);
  for (;;) {
    char* more = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (more == MAP_FAILED) continue;
    memset(more, 1, 1 << 20);
    usleep(50000);  // past the levels one by one: at each of them somebody may want to read who is here
  }
}
