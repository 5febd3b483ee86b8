// SPDX-License-Identifier: Apache-2.0
// A daemon that reads its settings again and again, and forgets to free the old ones.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pace.h"

struct setting {
  char *key, *value;
};

struct config {
  struct setting settings[64];
};

static struct config* config;

__attribute__((noinline)) char* format_value(long number, int field) {
  char text[200];
  snprintf(text, sizeof text, "value of field %d in version %ld, %0100d", field, number, field);
  return strdup(text);
}

__attribute__((noinline)) void reload_config(long number) {
  struct config* next = calloc(1, sizeof *next);
  for (int i = 0; i < 64; ++i) {
    next->settings[i].key = strdup("section.name.of.a.setting");
    next->settings[i].value = format_value(number, i);
  }
  config = next;
}

int main(void) {
  const double begin = seconds_now();
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 200, number); number < due; ++number) reload_config(number);
  }
}
