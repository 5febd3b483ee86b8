// SPDX-License-Identifier: Apache-2.0
// retention BURST_MB HOLD_MB [STEP_MS]: a burst of small blocks is freed, all but one in twenty, so that malloc can
// give nothing back; then memory for something else is taken, a MiB each STEP_MS.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const size_t block = 600, blocks = (size_t)atol(argv[1]) * (1 << 20) / (block + 8);
  const char* factor = getenv("OOMW_TIME_FACTOR");  // on an emulated CPU a reading takes longer
  const int step_ms = (argc > 3 ? atoi(argv[3]) : 100) * (factor && atoi(factor) > 1 ? atoi(factor) : 1);
  char** kept = malloc(blocks * sizeof *kept);
  for (size_t i = 0; i < blocks; ++i) {
    kept[i] = malloc(block);
    memset(kept[i], 1, block);
    if (i % 2000 == 0) usleep(20 * 1000);
  }
  for (size_t i = 0; i < blocks; ++i) {
    if (i % 20 != 0) free(kept[i]);
  }
  printf("freed\n");
  fflush(stdout);
  for (long mb = 0; mb < atol(argv[2]); ++mb) {
    memset(malloc(1 << 20), 1, 1 << 20);
    usleep(step_ms * 1000);
  }
  pause();
}
