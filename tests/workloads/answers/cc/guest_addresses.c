// SPDX-License-Identifier: Apache-2.0
// Gives addresses to the devices of guests in a wireless network, for two seconds at a time. A device that comes back
// finds its old address again by the number of its card.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pace.h"

#define SLOTS 65536
#define LEASE_SECONDS 2.0

struct link {
  struct link *previous, *next;
};

struct lease {
  struct link in_order;
  struct lease* same_slot;
  uint64_t card;
  uint32_t address;
  double ends;
  char host[48];
  unsigned char options[312];
};

struct pool {
  struct lease* slots[SLOTS];
  struct link active, expired;
  uint32_t last_address;
  long offered, returned;
};

static struct pool guests;

static void append(struct link* list, struct link* link) {
  link->previous = list->previous;
  link->next = list;
  list->previous->next = link;
  list->previous = link;
}

static void take_out(struct link* link) {
  link->previous->next = link->next;
  link->next->previous = link->previous;
}

__attribute__((noinline)) static struct lease* find_lease(uint64_t card) {
  struct lease* lease = guests.slots[card * 0x9e3779b97f4a7c15u >> 48];
  while (lease && lease->card != card) lease = lease->same_slot;
  return lease;
}

__attribute__((noinline)) static struct lease* new_lease(uint64_t card) {
  struct lease* lease = calloc(1, sizeof *lease);
  struct lease** slot = &guests.slots[card * 0x9e3779b97f4a7c15u >> 48];
  lease->card = card;
  lease->address = 0x0a000000 + ++guests.last_address % 0xffffff;
  snprintf(lease->host, sizeof lease->host, "guest-%012llx", (unsigned long long)card);
  for (size_t n = 0; n < sizeof lease->options; ++n) lease->options[n] = (unsigned char)(card >> n % 40);
  lease->same_slot = *slot;
  *slot = lease;
  return lease;
}

static void offer_address(uint64_t card, double now) {
  struct lease* lease = find_lease(card);
  if (lease) {
    take_out(&lease->in_order);
    ++guests.returned;
  } else {
    lease = new_lease(card);
  }
  lease->ends = now + LEASE_SECONDS;
  append(&guests.active, &lease->in_order);
  ++guests.offered;
}

static void expire_leases(double now) {
  struct lease* first;
  while (guests.active.next != &guests.active && (first = (struct lease*)guests.active.next)->ends < now) {
    take_out(&first->in_order);
    append(&guests.expired, &first->in_order);
  }
}

// Half of the devices are those of the house; the others make up a number of their own each time.
static uint64_t card_of(long number) {
  if (number % 2) return 0x001122000000u + (uint64_t)(number * 31 % 1500);
  return ((uint64_t)number * 6364136223846793005u + 1442695040888963407u) >> 16 | 0x020000000000u;
}

int main(void) {
  guests.active.previous = guests.active.next = &guests.active;
  guests.expired.previous = guests.expired.next = &guests.expired;
  const double begin = seconds_now();
  for (long number = 0;;) {
    const double now = seconds_now();
    for (const long due = wait_due(begin, 6400, number); number < due; ++number) offer_address(card_of(number), now);
    expire_leases(now);
  }
}
