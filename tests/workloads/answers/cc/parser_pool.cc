// SPDX-License-Identifier: Apache-2.0
// Nothing leaks: a pool of twelve threads parses documents of 13 MiB, one at a time, and a thread has one every half
// minute. Of each document the index stays, one small block in 150; the rest is freed, but lies between those blocks in
// the thread's arena.
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "pace.h"

namespace {

constexpr int kNodes = 26000, kIndexed = 150, kThreads = 12;

std::mutex mutex;
std::condition_variable changed;
long turn = -1;

__attribute__((noinline)) void parse_document(std::vector<void*>* index) {
  std::vector<void*> nodes;
  for (int i = 0; i < kNodes; ++i) {
    const size_t bytes = 200 + i * 37 % 650;
    nodes.push_back(std::memset(std::malloc(bytes), 1, bytes));
  }
  for (void* entry : *index) std::free(entry);
  index->clear();
  for (int i = 0; i < kNodes; ++i) {
    if (i % kIndexed == 0) {
      index->push_back(nodes[i]);
    } else {
      std::free(nodes[i]);
    }
  }
}

void work(long own) {
  std::vector<void*> index;
  for (;;) {
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [own] { return turn == own; });
      turn = -1;
    }
    parse_document(&index);
  }
}

}  // namespace

int main() {
  std::vector<std::thread> pool;
  for (long n = 0; n < kThreads; ++n) pool.emplace_back(work, n);
  const double begin = seconds_now();
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 0.4, number); number < due; ++number) {
      const std::lock_guard lock(mutex);
      turn = number % kThreads;
      changed.notify_all();
    }
  }
}
