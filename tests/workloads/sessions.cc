// SPDX-License-Identifier: Apache-2.0
// sessions COUNT INVOICES [PER_TICK]: objects of two C++ classes, one with virtual functions and one in shared
// pointers; then each 50 ms a MiB for something else, or with PER_TICK so many sessions more, and invoices that come
// and go.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

// C++'s headers refer to it where the machine's C library has it; the ones before 2.32, which it may run with, do not.
extern "C" __attribute__((weak)) char __libc_single_threaded = 0;

namespace shop {

class Session {
 public:
  virtual ~Session() = default;
  virtual int use() { return body_[0]; }

 private:
  char body_[500] = {};
};

struct Invoice {
  char text[250] = {};
};

}  // namespace shop

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* factor = std::getenv("OOMW_TIME_FACTOR");  // on an emulated CPU a reading takes longer
  const unsigned pause_us = 50'000 * (factor == nullptr ? 1 : std::max(1, std::atoi(factor)));
  std::vector<shop::Session*> sessions;
  std::vector<std::shared_ptr<shop::Invoice>> invoices;
  for (long i = 0; i < std::atol(argv[1]); ++i) sessions.push_back(new shop::Session);
  for (long i = 0; i < std::atol(argv[2]); ++i) invoices.push_back(std::make_shared<shop::Invoice>());
  std::printf("filled\n");
  std::fflush(stdout);
  while (argc > 3) {
    for (long i = 0; i < std::atol(argv[3]); ++i) sessions.push_back(new shop::Session);
    if (invoices.size() > 0) invoices[sessions.size() % invoices.size()] = std::make_shared<shop::Invoice>();
    usleep(pause_us);
  }
  for (;;) {
    std::memset(std::malloc(1 << 20), 1, 1 << 20);
    usleep(pause_us);
  }
}
