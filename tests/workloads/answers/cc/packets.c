// SPDX-License-Identifier: Apache-2.0
// A packet filter that remembers each packet in a list and looks for doubles in the last ten only.
#include <stdlib.h>
#include <string.h>

#include "pace.h"

struct packet {
  struct packet* next;
  unsigned char bytes[500];
};

static struct packet* newest;

__attribute__((noinline)) void remember_packet(long number) {
  struct packet* p = malloc(sizeof *p);
  memset(p->bytes, (int)number, sizeof p->bytes);
  p->next = newest;
  newest = p;
}

int main(void) {
  const double begin = seconds_now();
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 11000, number); number < due; ++number) remember_packet(number);
  }
}
