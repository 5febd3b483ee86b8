// SPDX-License-Identifier: Apache-2.0
// How much is due after a steady rate since the program's start.
#pragma once

#include <time.h>
#include <unistd.h>

static inline double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Sleeps until there is something to do after `done`; returns how many are due.
static inline long wait_due(double begin, double per_second, long done) {
  for (;;) {
    const long due = (long)((seconds_now() - begin) * per_second);
    if (due > done) return due;
    usleep(20 * 1000);
  }
}
