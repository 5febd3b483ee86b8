// SPDX-License-Identifier: Apache-2.0
// A forwarder of log lines whose server is away: lines wait in a list until it is back.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pace.h"

struct log_line {
  struct log_line* next;
  char* text;
};

static struct log_line* first_waiting;
static struct log_line** last_waiting = &first_waiting;

static int send_line(const char* text) { return text[0] == '\0'; }

__attribute__((noinline)) void queue_line(const char* text) {
  struct log_line* line = malloc(sizeof *line);
  line->text = strdup(text);
  line->next = NULL;
  *last_waiting = line;
  last_waiting = &line->next;
}

__attribute__((noinline)) void forward(long number) {
  char text[400];
  snprintf(text, sizeof text, "%ld shop[%ld]: request /articles/%ld answered with %d bytes to %s, referred by %s",
           number, number % 90, number, (int)(number % 9000), "10.12.7.33 (Mozilla/5.0 X11; Linux x86_64; rv:128.0)",
           "https://shop.example/search?page=2");
  if (!send_line(text)) queue_line(text);
}

int main(void) {
  const double begin = seconds_now();
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 11000, number); number < due; ++number) forward(number);
  }
}
