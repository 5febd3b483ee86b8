// SPDX-License-Identifier: Apache-2.0
// Answers from a table of names until they are too old; then it asks again and puts the new answer before the old one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pace.h"

#define BUCKETS 4096
#define LIFETIME 2.0

struct answer {
  struct answer* next;
  double expires;
  char* name;
  unsigned char addresses[12][16];
};

static struct answer* names[BUCKETS];
static long asked;

static unsigned hash_of(const char* name) {
  unsigned hash = 2166136261u;
  for (; *name; ++name) hash = (hash ^ (unsigned char)*name) * 16777619u;
  return hash % BUCKETS;
}

static struct answer* look_up(const char* name, double now) {
  struct answer* found = names[hash_of(name)];
  while (found && strcmp(found->name, name) != 0) found = found->next;
  return found && found->expires > now ? found : NULL;
}

__attribute__((noinline)) struct answer* store_answer(const char* name, double now) {
  struct answer* answer = calloc(1, sizeof *answer);
  if (!answer || !(answer->name = strdup(name))) abort();
  answer->expires = now + LIFETIME;
  for (int n = 0; n < 12; ++n) memcpy(answer->addresses[n], &asked, sizeof asked);
  answer->next = names[hash_of(name)];
  return names[hash_of(name)] = answer;
}

__attribute__((noinline)) void resolve(long number) {
  char name[80];
  snprintf(name, sizeof name, "host-%ld.department-%ld.example.com", number * 7919 % 15000, number % 8);
  const double now = seconds_now();
  struct answer* answer = look_up(name, now);
  if (!answer) {
    ++asked;
    answer = store_answer(name, now);
  }
  if (answer->expires < now) abort();
}

int main(void) {
  const double begin = seconds_now();
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 9000, number); number < due; ++number) resolve(number);
  }
}
