// SPDX-License-Identifier: Apache-2.0
// Many OOM kills, each in a cgroup of its own, at a moment that the caller chooses.
//   oom_storm victim MB                       waits for a byte on stdin, then grows by MB
//   oom_storm run PER_SECOND PROGRAM [ARG...] one PROGRAM in each cgroup.procs named on stdin
// `run` reads the paths up to an empty line, starts PROGRAM in each cgroup (with its stdin the pipe that
// releases it), prints "ready" when every one has exec'd, and waits for a line on stdin. Then it lets
// them go: all by one write to the pipe (PER_SECOND 0), or that many a second. It ends when all have,
// with "killed N other M seconds S": S from the release to the last one's end.
// PROGRAM reads one byte of stdin before it grows; one byte is one release.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// As many bytes as a pipe takes in one atomic write: the barrier opens for all of them at once.
enum { kMaxVictims = 4096, kMaxPath = 4096 };

static void fail(const char* what) {
  perror(what);
  exit(2);
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int be_victim(long megabytes) {
  char byte;
  if (read(STDIN_FILENO, &byte, 1) != 1) return 4;
  size_t bytes = (size_t)megabytes << 20;
  char* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("mmap");
  for (size_t at = 0; at < bytes; at += 4096) memory[at] = 1;
  return 3;  // the limit did not hold
}

// In the child: into the cgroup, then the program. `started` is closed by the exec.
static void become(const char* procs, int release, char** program) {
  int fd = open(procs, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, "0", 1) != 1) fail(procs);
  if (dup2(release, STDIN_FILENO) < 0) fail("dup2");
  execv(program[0], program);
  fail(program[0]);
}

static int start_all(int release, char** program) {
  static char path[kMaxPath];
  int count = 0;
  while (fgets(path, sizeof path, stdin) != NULL && path[0] != '\n') {
    path[strcspn(path, "\n")] = '\0';
    if (++count > kMaxVictims) exit(2);
    pid_t pid = fork();
    if (pid < 0) fail("fork");
    if (pid == 0) become(path, release, program);
  }
  return count;
}

// Every child holds the write end until it execs.
static void wait_until_closed(int fd) {
  char byte;
  if (read(fd, &byte, 1) != 0) fail("a child that did not start");
}

static void release_all(int fd, int count, long per_second) {
  static char bytes[kMaxVictims];
  if (per_second == 0) {
    if (write(fd, bytes, (size_t)count) != count) fail("release");
    return;
  }
  struct timespec gap = {.tv_sec = 0, .tv_nsec = 1000000000L / per_second};
  if (per_second == 1) gap = (struct timespec){.tv_sec = 1};
  for (int i = 0; i < count; ++i) {
    if (write(fd, bytes, 1) != 1) fail("release");
    nanosleep(&gap, NULL);
  }
}

static bool was_killed(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }

static int run(long per_second, char** program) {
  int release[2], started[2];
  if (pipe2(release, O_CLOEXEC) != 0 || pipe2(started, O_CLOEXEC) != 0) fail("pipe2");
  int count = start_all(release[0], program);
  close(started[1]);
  wait_until_closed(started[0]);
  puts("ready");
  fflush(stdout);
  if (getchar() == EOF) fail("no word to go");
  double begun = seconds_now();
  release_all(release[1], count, per_second);
  int killed = 0, status = 0;
  for (int ended = 0; ended < count && wait(&status) > 0; ++ended) killed += was_killed(status) ? 1 : 0;
  printf("killed %d other %d seconds %.3f\n", killed, count - killed, seconds_now() - begun);
  return 0;
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "victim") == 0) return be_victim(atol(argv[2]));
  if (argc >= 4 && strcmp(argv[1], "run") == 0) return run(atol(argv[2]), argv + 3);
  fprintf(stderr, "usage: oom_storm victim MB | oom_storm run PER_SECOND PROGRAM [ARG...]\n");
  return 2;
}
