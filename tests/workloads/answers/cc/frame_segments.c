// SPDX-License-Identifier: Apache-2.0
// A video server: each frame is a segment of shared memory that another process is to map and drop; none is dropped.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "pace.h"

enum { kFrameBytes = 300 << 10 };

__attribute__((noinline)) void publish_frame(long number) {
  const int fd = memfd_create("frame", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, kFrameBytes) != 0) abort();
  void* frame = mmap(NULL, kFrameBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (frame == MAP_FAILED) abort();
  memset(frame, (int)number, kFrameBytes);
  munmap(frame, kFrameBytes);
}

int main(void) {
  const double begin = seconds_now();
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 10, number); number < due; ++number) publish_frame(number);
  }
}
