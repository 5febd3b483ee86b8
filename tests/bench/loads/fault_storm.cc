// SPDX-License-Identifier: Apache-2.0
// Page faults and nothing else: maps memory, touches every page, gives it back, again and again.
//   fault_storm MEGABYTES ROUNDS
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>

#include "progress.h"

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kReported = 256 * kPage;  // a unit of progress, 50 us or more

// Small pages: a huge one would be one fault for 512.
bool touch_afresh(std::size_t bytes, Progress& progress) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  for (std::size_t at = 0; at < bytes; at += kPage) {
    static_cast<volatile char*>(memory)[at] = 1;
    if (at % kReported == 0) progress.done(1);
  }
  return munmap(memory, bytes) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: fault_storm MEGABYTES ROUNDS\n", stderr);
    return 2;
  }
  const std::size_t bytes = std::strtoul(argv[1], nullptr, 10) << 20;
  Progress progress;
  for (long round = std::atol(argv[2]); round > 0; --round) {
    if (!touch_afresh(bytes, progress)) return 1;
  }
}
