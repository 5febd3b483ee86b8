// SPDX-License-Identifier: Apache-2.0
// Healthy: a file twice as large as the container is read from front to back, over and over: the page cache fills all
// that there is, and gives way. scan_file FOLDER.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>

#include "pace.h"

enum { kBlock = 1 << 20, kBlocks = 128 };

int main(int count, char** arguments) {
  const int fd = open(count > 1 ? arguments[1] : "/var/tmp", O_TMPFILE | O_RDWR, 0600);
  char* block = calloc(1, kBlock);
  if (fd < 0) abort();
  for (int i = 0; i < kBlocks; ++i) {
    if (write(fd, block, kBlock) != kBlock) abort();
  }
  fsync(fd);
  const double begin = seconds_now();
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 60, number); number < due; ++number) {
      if (pread(fd, block, kBlock, number % kBlocks * (long)kBlock) != kBlock) abort();
    }
  }
}
