// SPDX-License-Identifier: Apache-2.0
// Nothing leaks: one worker after the other does a job of 12 MiB of small blocks, frees all but the last block of each
// hundred, and waits for its next job. Every worker has an arena of its own, which keeps the pages.
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "pace.h"

namespace {

constexpr int kBlocks = 12000, kBytes = 1024, kKeptOneOf = 100;

__attribute__((noinline)) void do_job() {
  std::vector<void*> blocks;
  for (int i = 0; i < kBlocks; ++i) blocks.push_back(std::memset(std::malloc(kBytes), 1, kBytes));
  for (int i = 0; i < kBlocks; ++i) {
    if (i % kKeptOneOf != kKeptOneOf - 1) std::free(blocks[i]);
  }
}

void work() {
  do_job();
  for (;;) pause();
}

}  // namespace

int main() {
  std::vector<std::thread> workers;
  const double begin = seconds_now();
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 0.4, number); number < due; ++number) workers.emplace_back(work);
  }
}
