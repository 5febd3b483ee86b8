// SPDX-License-Identifier: Apache-2.0
// Watches the sensors of a chemical plant and raises alarms when a value leaves its range. An alarm is open until an
// operator has acknowledged it, and is then part of the protocol of the shift.
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pace.h"

namespace plant {

class Alarm {
 public:
  explicit Alarm(std::string place) : place_(std::move(place)) {}
  virtual ~Alarm() = default;
  virtual std::string Text() const = 0;
  virtual bool IsSevere() const = 0;
  const std::string& place() const { return place_; }

 private:
  std::string place_;
};

class PressureAlarm : public Alarm {
 public:
  PressureAlarm(std::string place, double bar) : Alarm(std::move(place)), bar_(bar) {
    for (int n = 0; n < 40; ++n) before_[n] = bar - 0.01 * n;
  }
  std::string Text() const override { return place() + " has " + std::to_string(bar_) + " bar"; }
  bool IsSevere() const override { return bar_ + before_[39] > 18.5; }

 private:
  double bar_;
  double before_[40];
};

class LevelAlarm : public Alarm {
 public:
  LevelAlarm(std::string place, int millimetres) : Alarm(std::move(place)), millimetres_(millimetres) {}
  std::string Text() const override { return place() + " stands at " + std::to_string(millimetres_) + " mm"; }
  bool IsSevere() const override { return millimetres_ > 3900; }

 private:
  int millimetres_;
};

class ShiftProtocol {
 public:
  virtual ~ShiftProtocol() = default;
  virtual void Add(std::unique_ptr<Alarm> alarm) {
    severe_ += alarm->IsSevere();
    alarms_.push_back(std::move(alarm));
  }
  long severe() const { return severe_; }

 private:
  std::vector<std::unique_ptr<Alarm>> alarms_;
  long severe_ = 0;
};

class ControlRoom {
 public:
  void Raise(long number) {
    const std::string place = "boiler " + std::to_string(number % 90) + ", sensor " + std::to_string(number * 31 % 700);
    if (number % 4 != 0) {
      open_.push_back(std::make_unique<PressureAlarm>(place, static_cast<double>(number * 7 % 1000) / 100));
    } else {
      open_.push_back(std::make_unique<LevelAlarm>(place, static_cast<int>(number * 13 % 4000)));
    }
  }
  void Acknowledge() {
    while (open_.size() > 300) {
      letters_ += open_.front()->Text().size();
      protocol_->Add(std::move(open_.front()));
      open_.pop_front();
    }
  }
  size_t told() const { return letters_ + static_cast<size_t>(protocol_->severe()); }

 private:
  std::list<std::unique_ptr<Alarm>> open_;
  std::unique_ptr<ShiftProtocol> protocol_ = std::make_unique<ShiftProtocol>();
  size_t letters_ = 0;
};

}  // namespace plant

int main() {
  plant::ControlRoom room;
  const double begin = seconds_now();
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 4200, number); number < due; ++number) room.Raise(number);
    room.Acknowledge();
  }
  return static_cast<int>(room.told());
}
