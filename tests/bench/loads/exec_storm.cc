// SPDX-License-Identifier: Apache-2.0
// A shell script at its worst: one short program after the other.
//   exec_storm COUNT PROGRAM
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "progress.h"

namespace {

bool run(char* program) {
  const pid_t child = fork();
  if (child == 0) {
    char* const argv[] = {program, nullptr};
    execv(program, argv);
    _exit(127);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: exec_storm COUNT PROGRAM\n", stderr);
    return 2;
  }
  Progress progress;
  for (long n = std::atol(argv[1]); n > 0; --n) {
    if (!run(argv[2])) return 1;
    progress.done(1);
  }
}
