// SPDX-License-Identifier: Apache-2.0
// A thread for each connection, and no connection ever ends: what they take is stack.
#include <cstring>
#include <thread>

#include "pace.h"

namespace {

__attribute__((noinline)) void serve_connection() {
  char request[120 << 10];
  std::memset(request, 1, sizeof request);
  asm volatile("" ::"r"(request) : "memory");
  for (;;) pause();
}

}  // namespace

int main() {
  const double begin = seconds_now();
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 50, number); number < due; ++number) std::thread(serve_connection).detach();
  }
}
