// SPDX-License-Identifier: Apache-2.0
// Nothing leaks: the cars of a city, each with the track of its trip, which is forgotten when it arrives after nine
// seconds. From the 28th second on it is rush hour, and twice as many cars are on their way.
#include <cmath>
#include <deque>
#include <string>
#include <vector>

#include "pace.h"

struct Position {
  double x, y, speed;
};

struct Car {
  long number;
  double leaves;
  std::vector<std::vector<Position>> track;  // by street
};

class City {
 public:
  __attribute__((noinline)) void Depart(long number, double now) { cars_.push_back({number, now, {}}); }

  __attribute__((noinline)) void Drive(double now) {
    for (Car& car : cars_) {
      if (car.track.empty() || car.track.back().size() >= 64) car.track.emplace_back();
      for (int n = 0; n < 4; ++n) {
        const double along = now - car.leaves + n * 0.025;
        car.track.back().push_back({std::cos(along) * car.number, std::sin(along) * car.number, 13.9});
      }
    }
  }

  void Arrive(double now) {
    while (!cars_.empty() && cars_.front().leaves < now - 9) {
      for (const auto& street : cars_.front().track) driven_ += street.size();
      cars_.pop_front();
    }
  }

 private:
  std::deque<Car> cars_;
  size_t driven_ = 0;
};

int main() {
  City city;
  const double begin = seconds_now();
  double departed = 0;
  for (long number = 0, step = 0;;) {
    for (const long due = wait_due(begin, 10, step); step < due; ++step) {
      const double now = seconds_now();
      for (departed += now - begin < 28 ? 110 : 220; number < departed; ++number) city.Depart(number, now);
      city.Drive(now);
      city.Arrive(now);
    }
  }
}
