// SPDX-License-Identifier: Apache-2.0
// Counts requests by path, in a tree whose siblings are a list, the last used first, which is not read to its end. What
// comes after the question mark was to be cut off, but proxies write it as %3F.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pace.h"

struct segment {
  struct segment *first_child, *next_sibling;
  unsigned long hits, by_status[6];
  char* text;
};

static struct segment root;

__attribute__((noinline)) struct segment* child_of(struct segment* parent, const char* text, size_t length) {
  struct segment** link = &parent->first_child;
  for (int looked = 0; *link && looked < 200; link = &(*link)->next_sibling, ++looked) {
    struct segment* found = *link;
    if (strncmp(found->text, text, length) != 0 || found->text[length] != 0) continue;
    *link = found->next_sibling;
    found->next_sibling = parent->first_child;
    return parent->first_child = found;
  }
  struct segment* child = calloc(1, sizeof *child);
  if (!child || !(child->text = strndup(text, length))) abort();
  child->next_sibling = parent->first_child;
  return parent->first_child = child;
}

__attribute__((noinline)) void count_request(const char* path, int status) {
  const size_t end = strcspn(path, "?");
  struct segment* here = &root;
  for (size_t at = 1; at < end;) {
    const size_t length = strcspn(path + at, "/?");
    here = child_of(here, path + at, length);
    at += length + 1;
  }
  ++here->hits;
  ++here->by_status[status / 100];
}

int main(void) {
  const double begin = seconds_now();
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 12000, number); number < due; ++number) {
      char path[200];
      snprintf(path, sizeof path, "/api/v%ld/customers/%ld/orders%s", number % 3, number % 60,
               number % 2 ? "?page=4" : "");
      if (number % 2 == 0) {
        const size_t length = strlen(path);
        snprintf(path + length, sizeof path - length, "%%3Fpage=4&trace=%08lx-%ld-of-proxy-%ld",
                 number * 2654435761 % 4294967291, number, number % 12);
      }
      count_request(path, number % 17 ? 200 : 404);
    }
  }
}
