// SPDX-License-Identifier: Apache-2.0
// Memory that belongs to a file and not to a process: writes to FILE, which lies on tmpfs or ramfs.
//   filehog FILE [--write-mb N] [--rate-mb-s R]
// Writes N MB (0 = without end) at R MB/s (0 = as fast as it goes), maps none of it, prints "ready"
// before the first and sleeps after the last.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr std::size_t kMegabyte = 1 << 20;
char block[kMegabyte];  // all there is of its own memory

struct Options {
  const char* file = nullptr;
  long write_mb = 0;
  long rate_mb_s = 0;
};

bool parse(int argc, char** argv, Options& options) {
  if (argc < 2) return false;
  options.file = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--write-mb") == 0)
      options.write_mb = std::atol(argv[i + 1]);
    else if (std::strcmp(argv[i], "--rate-mb-s") == 0)
      options.rate_mb_s = std::atol(argv[i + 1]);
    else
      return false;
  }
  return argc % 2 == 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fputs("usage: filehog FILE [--write-mb N] [--rate-mb-s R]\n", stderr);
    return 2;
  }
  const int fd = open(options.file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) {
    std::perror(options.file);
    return 3;
  }
  std::memset(block, 0x5a, sizeof block);
  std::puts("ready");
  std::fflush(stdout);
  for (long done = 0; options.write_mb == 0 || done < options.write_mb; ++done) {
    if (write(fd, block, sizeof block) < 0) {
      std::perror("write");
      return 4;
    }
    if (options.rate_mb_s > 0) usleep(static_cast<useconds_t>(1'000'000 / options.rate_mb_s));
  }
  for (;;) pause();
}
