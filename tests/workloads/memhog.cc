// SPDX-License-Identifier: Apache-2.0
// Anonymous memory without a Go runtime and without an endpoint: hold some, then leak.
//   memhog [--hold-mb N] [--rate-mb-s R] [--leak-mb N] [--wait-file F] [--huge 1]
// Touches --hold-mb at once and prints "ready"; then, once F exists (if given), adds --leak-mb
// (0 = without end) at R MB/s (0 = as fast as it goes; absent = no leak) and sleeps.
// --huge: in pieces of 2 MB that the kernel may back with one huge page each.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr std::size_t kMegabyte = 1 << 20;
constexpr std::size_t kHugePage = 2 * kMegabyte;

struct Options {
  long hold_mb = 0;
  long rate_mb_s = -1;
  long leak_mb = 0;
  std::string wait_file;
  bool huge = false;
};

char* map(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) _exit(3);
  return static_cast<char*>(memory);
}

// Twice the size, so that an aligned piece lies inside; only that is touched.
void touch_huge_page() {
  char* memory = map(2 * kHugePage);
  memory += (kHugePage - reinterpret_cast<std::uintptr_t>(memory) % kHugePage) % kHugePage;
  (void)madvise(memory, kHugePage, MADV_HUGEPAGE);
  std::memset(memory, 0x5a, kHugePage);
}

// Touches one piece; its size in MB.
long touch_piece(const Options& options) {
  if (options.huge) {
    touch_huge_page();
    return kHugePage / kMegabyte;
  }
  std::memset(map(kMegabyte), 0x5a, kMegabyte);
  return 1;
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
    else if (flag == "--huge")
      options.huge = std::atol(argv[i + 1]) != 0;
    else
      return false;
  }
  return argc % 2 == 1;
}

void leak(const Options& options) {
  for (long done = 0; options.leak_mb == 0 || done < options.leak_mb;) {
    const long piece_mb = touch_piece(options);
    done += piece_mb;
    if (options.rate_mb_s > 0) usleep(static_cast<useconds_t>(1'000'000 * piece_mb / options.rate_mb_s));
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fputs("usage: memhog [--hold-mb N] [--rate-mb-s R] [--leak-mb N] [--wait-file F] [--huge 1]\n", stderr);
    return 2;
  }
  for (long held = 0; held < options.hold_mb;) held += touch_piece(options);
  std::puts("ready");
  std::fflush(stdout);
  while (!options.wait_file.empty() && access(options.wait_file.c_str(), F_OK) != 0) usleep(10'000);
  if (options.rate_mb_s >= 0) leak(options);
  for (;;) pause();
}
