// SPDX-License-Identifier: Apache-2.0
// A shared drawing: what each user does can be undone, and no step is ever forgotten.
#include <memory>
#include <vector>

#include "pace.h"

namespace paint {

struct Point {
  float x, y, pressure;
};

class Command {
 public:
  virtual ~Command() = default;
  virtual void Undo() = 0;
};

class BrushStroke : public Command {
 public:
  explicit BrushStroke(long number) {
    const int count = 900 + static_cast<int>(number * 7919 % 1200);
    for (int i = 0; i < count; ++i) points_.push_back({i * 0.5f, number % 700 + i * 0.25f, 0.8f});
  }
  void Undo() override { points_.clear(); }

 private:
  std::vector<Point> points_;
};

class LayerMove : public Command {
 public:
  explicit LayerMove(long number) : dx_(number % 9), dy_(number % 7) {}
  void Undo() override { dx_ = dy_ = 0; }

 private:
  long dx_, dy_;
};

class Drawing {
 public:
  __attribute__((noinline)) void Execute(std::unique_ptr<Command> command) { history_.push_back(std::move(command)); }

 private:
  std::vector<std::unique_ptr<Command>> history_;
};

}  // namespace paint

int main() {
  paint::Drawing drawing;
  const double begin = seconds_now();
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 120, number); number < due; ++number) {
      if (number % 6 == 0) {
        drawing.Execute(std::make_unique<paint::LayerMove>(number));
      } else {
        drawing.Execute(std::make_unique<paint::BrushStroke>(number));
      }
    }
  }
}
