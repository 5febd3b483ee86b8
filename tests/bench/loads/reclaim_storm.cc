// SPDX-License-Identifier: Apache-2.0
// Page cache through a cgroup that is too small for it: reads a file of holes, which the kernel caches
// like any other while no disk is asked, so that reclaim is all there is to wait for.
//   reclaim_storm FILE MEGABYTES ROUNDS
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::size_t kBlock = 64 << 10;

int open_holes(const char* path, off_t bytes) {
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  return fd >= 0 && ftruncate(fd, bytes) == 0 ? fd : -1;
}

bool read_all(int fd, off_t bytes, std::vector<char>& block) {
  for (off_t at = 0; at < bytes; at += static_cast<off_t>(block.size())) {
    if (pread(fd, block.data(), block.size(), at) <= 0) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: reclaim_storm FILE MEGABYTES ROUNDS\n", stderr);
    return 2;
  }
  const off_t bytes = std::atol(argv[2]) << 20;
  const int fd = open_holes(argv[1], bytes);
  std::vector<char> block(kBlock);
  for (long round = std::atol(argv[3]); fd >= 0 && round > 0; --round) {
    if (!read_all(fd, bytes, block)) return 1;
  }
  return fd >= 0 ? 0 : 1;
}
