// SPDX-License-Identifier: Apache-2.0
// Anonymous memory without a Go runtime and without an endpoint: hold some, then leak.
//   memhog [--hold-mb N] [--rate-mb-s R] [--leak-mb N] [--wait-file F]
// Touches --hold-mb at once and prints "ready"; then, once F exists (if given), adds --leak-mb
// (0 = without end) at R MB/s (0 = as fast as it goes; absent = no leak) and sleeps.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr std::size_t kMegabyte = 1 << 20;

struct Options {
  long hold_mb = 0;
  long rate_mb_s = -1;
  long leak_mb = 0;
  std::string wait_file;
};

void touch_megabyte() {
  void* memory = mmap(nullptr, kMegabyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) _exit(3);
  std::memset(memory, 0x5a, kMegabyte);
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--hold-mb")
      options.hold_mb = std::atol(argv[i + 1]);
    else if (flag == "--rate-mb-s")
      options.rate_mb_s = std::atol(argv[i + 1]);
    else if (flag == "--leak-mb")
      options.leak_mb = std::atol(argv[i + 1]);
    else if (flag == "--wait-file")
      options.wait_file = argv[i + 1];
    else
      return false;
  }
  return argc % 2 == 1;
}

void leak(const Options& options) {
  for (long done = 0; options.leak_mb == 0 || done < options.leak_mb; ++done) {
    touch_megabyte();
    if (options.rate_mb_s > 0) usleep(static_cast<useconds_t>(1'000'000 / options.rate_mb_s));
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fputs("usage: memhog [--hold-mb N] [--rate-mb-s R] [--leak-mb N] [--wait-file F]\n", stderr);
    return 2;
  }
  for (long i = 0; i < options.hold_mb; ++i) touch_megabyte();
  std::puts("ready");
  std::fflush(stdout);
  while (!options.wait_file.empty() && access(options.wait_file.c_str(), F_OK) != 0) usleep(10'000);
  if (options.rate_mb_s >= 0) leak(options);
  for (;;) pause();
}
