// SPDX-License-Identifier: Apache-2.0
// A journal that is written to disk "later": lines as std::string in a vector.
#include <cstdio>
#include <string>
#include <vector>

#include "pace.h"

class Journal {
 public:
  __attribute__((noinline)) void append(long number) {
    std::string line = "request " + std::to_string(number) + " ";
    line.append(300, static_cast<char>('a' + number % 26));
    lines_.push_back(std::move(line));
  }

 private:
  std::vector<std::string> lines_;
};

int main() {
  Journal journal;
  const double begin = seconds_now();
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 14000, number); number < due; ++number) journal.append(number);
  }
}
