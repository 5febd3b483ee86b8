// SPDX-License-Identifier: Apache-2.0
// Mixes the voices of conference calls. For each participant the last six seconds of sound are kept, so that whoever
// joins late hears them, and for each room a table of who is loud.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pace.h"

#define FRAMES 300
#define MOST_ROOMS 400

struct frame {
  short samples[160];
};

struct participant {
  struct participant* next;
  int number, at;
  struct frame* history[FRAMES];
};

struct room {
  struct participant* first;
  long loud[64];
};

static struct room* rooms[MOST_ROOMS];
static int open_rooms;

__attribute__((noinline)) static struct frame* record_frame(int number, long tick) {
  struct frame* frame = malloc(sizeof *frame);
  for (int n = 0; n < 160; ++n) frame->samples[n] = (short)((tick * 31 + number * 7 + n * n) % 3000);
  return frame;
}

__attribute__((noinline)) static void join_room(struct room* room, int number) {
  struct participant* joined = calloc(1, sizeof *joined);
  joined->number = number;
  joined->next = room->first;
  room->first = joined;
}

static void open_room(void) {
  struct room* room = calloc(1, sizeof *room);
  for (int n = 0; n < 4; ++n) join_room(room, open_rooms * 4 + n);
  rooms[open_rooms++] = room;
}

static void hear(struct room* room, long tick) {
  for (struct participant* p = room->first; p; p = p->next) {
    free(p->history[p->at]);
    p->history[p->at] = record_frame(p->number, tick);
    room->loud[p->number % 64] += p->history[p->at]->samples[p->number % 160];
    p->at = (p->at + 1) % FRAMES;
  }
}

int main(void) {
  const double begin = seconds_now();
  while (open_rooms < 110) open_room();
  for (long tick = 0;;) {
    for (const long due = wait_due(begin, 50, tick); tick < due; ++tick) {
      // Past half a minute the rooms of a second office open, two in a second.
      if (tick > 1600 && tick % 25 == 0 && open_rooms < 190) open_room();
      for (int n = 0; n < open_rooms; ++n) hear(rooms[n], tick);
    }
  }
}
