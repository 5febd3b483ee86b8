// SPDX-License-Identifier: Apache-2.0
// Nothing leaks: games of a board game, each with all of its positions so that a player may look back. A game ends
// after ten seconds and is gone. From the 30th second on a tournament adds three fifths to the games at once.
#include <cstring>
#include <list>
#include <memory>
#include <vector>

#include "pace.h"

namespace lobby {

class Room {
 public:
  virtual ~Room() = default;
  virtual void Play(double now) = 0;
  virtual bool IsOver(double now) const = 0;
};

class Position {
 public:
  Position(long game, int move) : move_(move) {
    std::memset(squares_, static_cast<int>((game + move) % 13), sizeof squares_);
  }
  virtual ~Position() = default;
  virtual int Value() const { return squares_[move_ % 361]; }

 private:
  int move_;
  signed char squares_[361];
};

class BoardGame : public Room {
 public:
  BoardGame(long number, double now) : number_(number), began_(now) {}
  void Play(double now) override {
    const auto due = static_cast<size_t>((now - began_) * 12);
    while (positions_.size() < due) {
      positions_.push_back(std::make_unique<Position>(number_, static_cast<int>(positions_.size())));
      value_ += positions_.back()->Value();
    }
  }
  bool IsOver(double now) const override { return now > began_ + 10; }

 private:
  long number_;
  double began_;
  int value_ = 0;
  std::vector<std::unique_ptr<Position>> positions_;
};

}  // namespace lobby

int main() {
  std::list<std::unique_ptr<lobby::Room>> rooms;
  const double begin = seconds_now();
  double opened = 0;
  for (long number = 0, step = 0;;) {
    for (const long due = wait_due(begin, 20, step); step < due; ++step) {
      const double now = seconds_now();
      for (opened += (now - begin < 30 ? 200 : 320) / 20.0; number < opened; ++number) {
        rooms.push_back(std::make_unique<lobby::BoardGame>(number, now));
      }
      for (auto& room : rooms) room->Play(now);
      rooms.remove_if([now](const auto& room) { return room->IsOver(now); });
    }
  }
}
