// SPDX-License-Identifier: Apache-2.0
// A queue whose consumer takes one job of ten.
#include <stdlib.h>
#include <string.h>

#include "pace.h"

struct job {
  struct job* next;
  char* payload;
};

static struct job *first, **last = &first;

__attribute__((noinline)) void enqueue_job(long number) {
  struct job* job = malloc(sizeof *job);
  job->next = NULL;
  job->payload = malloc(4000);
  memset(job->payload, (int)number, 4000);
  *last = job;
  last = &job->next;
}

__attribute__((noinline)) void run_job(void) {
  struct job* job = first;
  first = job->next;
  if (!first) last = &first;
  free(job->payload);
  free(job);
}

int main(void) {
  const double begin = seconds_now();
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 1600, number); number < due; ++number) {
      enqueue_job(number);
      if (number % 10 == 0) run_job();
    }
  }
}
