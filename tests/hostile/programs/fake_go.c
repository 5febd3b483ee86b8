// SPDX-License-Identifier: Apache-2.0
// Not a Go program, but a file with Go's section names and no function table: whoever looks for its heap profile has to
// search the .bss of the living process, 64 MiB.
//   fake_go idle         an untouched .bss
//   fake_go pointers     every word of it looks like a pointer, each into another page that is not mapped
//   fake_go file PATH    the .bss is a private mapping of PATH, whose file system may never answer
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kBssBytes = 64 << 20, kPage = 4096, kHungBytes = 1 << 20 };

__attribute__((section(".go.buildinfo"), used)) static const char kBuildInfo[80] = "\xff Go buildinf:\x08\x02";
static uintptr_t words[kBssBytes / sizeof(uintptr_t)] __attribute__((aligned(kPage)));

static void fill_with_pointers(void) {
  for (size_t i = 0; i < kBssBytes / sizeof(uintptr_t); ++i) words[i] = 0x100000000000 + i % (1U << 22) * 2 * kPage;
}

static int map_over(const char* path) {
  const int fd = open(path, O_RDONLY);
  struct stat info;
  if (fd < 0 || fstat(fd, &info) != 0) return -1;
  const size_t bytes = info.st_size < kHungBytes ? (size_t)info.st_size : kHungBytes;
  void* at = mmap(words, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0);
  return at == MAP_FAILED ? -1 : 0;
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "pointers") == 0) fill_with_pointers();
  if (argc > 2 && strcmp(argv[1], "file") == 0 && map_over(argv[2]) != 0) {
    perror(argv[2]);
    return 1;
  }
  puts("ready");
  fflush(stdout);
  for (;;) pause();
}
