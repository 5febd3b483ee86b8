// SPDX-License-Identifier: Apache-2.0
// crash_loop PER_SECOND COUNT [DEPTH]: a child that grows until it is killed, then the next. The children offer
// themselves to the kernel (oom_score_adj), so that the loop goes on.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kStep = 1 << 20 };

static void grow(void) {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY);
  if (fd < 0 || write(fd, "1000", 4) != 4) _exit(1);
  for (;;) {
    char* more = mmap(NULL, kStep, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (more == MAP_FAILED) _exit(1);
    memset(more, 1, kStep);
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const long per_second = strtol(argv[1], NULL, 10), count = strtol(argv[2], NULL, 10);
  for (long i = 0; i < count; ++i) {
    const pid_t pid = fork();
    if (pid == 0) grow();
    waitpid(pid, NULL, 0);
    if (i == 0) puts("first");
    if (i == 0) fflush(stdout);
    usleep((useconds_t)(1000000 / per_second));
  }
  puts("done");
  fflush(stdout);
  for (;;) pause();
}
