// SPDX-License-Identifier: Apache-2.0
// exec_flood COUNT: so many programs with 4 KiB of arguments each, 128 at a time, which live just long enough for their
// command line to be read.
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kArgumentBytes = 4096, kBatch = 128, kLifeUs = 150000 };

static int spawn_one(const char* program, long number) {
  static char text[kArgumentBytes];
  memset(text, 'a' + (int)(number % 26), sizeof text - 1);
  text[snprintf(text, sizeof text, "%ld", number)] = '-';  // no two alike
  char* const argv[] = {(char*)program, "end", text, NULL};
  char* const environment[] = {NULL};
  pid_t pid;
  return posix_spawn(&pid, program, NULL, NULL, argv, environment);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (strcmp(argv[1], "end") == 0) return usleep(kLifeUs);
  const long count = strtol(argv[1], NULL, 10);
  for (long i = 0; i < count; ++i) {
    if (spawn_one(argv[0], i) != 0) return 1;
    if (i % kBatch == kBatch - 1 || i == count - 1) {
      while (wait(NULL) > 0) {
      }
    }
  }
  puts("done");
  fflush(stdout);
  for (;;) pause();
}
