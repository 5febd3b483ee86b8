// SPDX-License-Identifier: Apache-2.0
// Healthy: pictures of 1 MiB are decoded into buffers that live for one to three seconds; how many there are goes up
// and down.
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>

#include "pace.h"

namespace {

constexpr size_t kBytes = 1 << 20;

class Picture {
 public:
  explicit Picture(long number) : pixels_(new unsigned char[kBytes]) {
    std::memset(pixels_.get(), static_cast<int>(number), kBytes);
  }
  virtual ~Picture() = default;

 private:
  std::unique_ptr<unsigned char[]> pixels_;
};

}  // namespace

int main() {
  std::deque<std::pair<double, std::unique_ptr<Picture>>> shown;
  const double begin = seconds_now();
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 25, number); number < due; ++number) {
      const double now = seconds_now();
      shown.emplace_back(now + 2 + std::sin((now - begin) / 3), std::make_unique<Picture>(number));
      while (!shown.empty() && shown.front().first < now) shown.pop_front();
    }
  }
}
