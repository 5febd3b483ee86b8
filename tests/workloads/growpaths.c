// SPDX-License-Identifier: Apache-2.0
// Grows by three call paths in the ratio 63 : 28 : 9 until its container's limit ends it.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void* volatile kept;

static void __attribute__((noinline)) keep(size_t bytes) {
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

int main(void) {
  for (int i = 0;; ++i) {
    add_session();
    add_report();
    add_login();
    if (i % 100 == 0) usleep(5000);
  }
}
