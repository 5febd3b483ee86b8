// SPDX-License-Identifier: Apache-2.0
// oscillate LOW_KIB HIGH_KIB: grows to HIGH and gives back down to LOW, as fast as it can.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const size_t low = strtoul(argv[1], NULL, 10) << 10, high = strtoul(argv[2], NULL, 10) << 10;
  char* area = mmap(NULL, high, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (area == MAP_FAILED || low > high) return 1;
  puts("ready");
  fflush(stdout);
  for (;;) {
    memset(area, 1, high);
    madvise(area + low, high - low, MADV_DONTNEED);
  }
}
