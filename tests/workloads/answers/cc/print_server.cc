// SPDX-License-Identifier: Apache-2.0
// Makes the pages of print jobs ready for a printer: each page is drawn in bands, and the bands go to the printer in
// order. Letters are printed at 150 dots to the inch, and plans of buildings as their job asks for it.
#include <cstdint>
#include <vector>

#include "pace.h"

namespace print {

struct Job {
  long number;
  double inches_wide, inches_high;
  int dots_per_inch;
};

struct Band {
  int top;
  std::vector<uint8_t> dots;
};

class Printer {
 public:
  void Send(const std::vector<Band>& bands) {
    for (const auto& band : bands) {
      for (const uint8_t dot : band.dots) ink_ += dot;
    }
  }

 private:
  uint64_t ink_ = 0;
};

__attribute__((noinline)) Band DrawBand(const Job& job, int top, int width, int height) {
  Band band{top, std::vector<uint8_t>(static_cast<size_t>(width) * static_cast<size_t>(height))};
  for (size_t n = 0; n < band.dots.size(); ++n)
    band.dots[n] = static_cast<uint8_t>(job.number + top + static_cast<int>(n) % 7);
  return band;
}

__attribute__((noinline)) std::vector<Band> RasterizePage(const Job& job) {
  const int width = static_cast<int>(job.inches_wide * job.dots_per_inch);
  const int height = static_cast<int>(job.inches_high * job.dots_per_inch);
  std::vector<Band> bands;
  for (int top = 0; top < height; top += 64) bands.push_back(DrawBand(job, top, width, 64));
  return bands;
}

}  // namespace print

int main() {
  print::Printer printer;
  const double begin = seconds_now();
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 20, number); number < due; ++number) {
      print::Job job{number, 8.3, 11.7, 150};
      if (number % 40 == 39) job = {number, 16.5, 23.4, 150};
      if (number == 860) job = {number, 33.1, 46.8, 300};
      printer.Send(print::RasterizePage(job));
    }
  }
}
