// SPDX-License-Identifier: Apache-2.0
// Grows by three call paths in the ratio 63 : 28 : 9 until its container's limit ends it. Above 119 MiB it does so at
// 19 MiB a second, fills a cache once, and takes memory again and again that it gives back.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB (1u << 20)

static void* volatile kept;

// In each of its callers: the program's own code next to malloc() is what growth is blamed on.
static inline void __attribute__((always_inline)) keep(size_t bytes) {
  char* block = malloc(bytes);
  if (block == NULL) _exit(3);
  memset(block, 1, bytes);
  *(void**)block = kept;
  kept = block;
}

// Not tail calls: each has to be on the stack.
void __attribute__((noinline)) add_session(void) {
  keep(6300);
  asm volatile("");
}
void __attribute__((noinline)) add_report(void) {
  keep(2800);
  asm volatile("");
}
void __attribute__((noinline)) add_login(void) {
  keep(900);
  asm volatile("");
}
void __attribute__((noinline)) warm_up(void) {
  for (int i = 0; i < 12; ++i) keep(MIB);
  asm volatile("");
}
void __attribute__((noinline)) scratch(void) {
  char* block = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) _exit(3);
  memset(block, 1, 8 * MIB);
  munmap(block, 8 * MIB);
}

// 10,000 bytes a turn.
int main(void) {
  for (int i = 0;; ++i) {
    add_session();
    add_report();
    add_login();
    if (i % 100 == 0) usleep(i < 12500 ? 5000 : 50000);
    if (i > 12500 && i % 1000 == 0) scratch();
    if (i == 15000) warm_up();
  }
}
