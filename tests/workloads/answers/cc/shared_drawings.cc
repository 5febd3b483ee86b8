// SPDX-License-Identifier: Apache-2.0
// Shows drawings to many viewers at once. A viewer subscribes to a drawing for some seconds and gets each stroke made
// in that time. A drawing does not keep its viewers alive.
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "pace.h"

namespace board {

struct Stroke {
  float x, y, width;
};

class Follower {
 public:
  virtual ~Follower() = default;
  virtual void OnStroke(const Stroke& stroke) = 0;
};

class Viewport : public Follower {
 public:
  Viewport(int width, long number) : width_(width), number_(number) {}
  void OnStroke(const Stroke& stroke) override {
    dirty_[static_cast<int>(stroke.x + stroke.y) % 160] =
        static_cast<unsigned>(number_) + static_cast<unsigned>(width_);
  }
  unsigned Corner() const { return dirty_[0] + dirty_[159]; }

 private:
  int width_;
  long number_;
  unsigned dirty_[160] = {};
};

class Drawing {
 public:
  virtual ~Drawing() = default;
  virtual void Follow(const std::shared_ptr<Follower>& follower) { followers_.push_back(follower); }
  void Add(const Stroke& stroke) {
    // The newest first. More than fifty do not watch one drawing.
    size_t called = 0;
    for (auto at = followers_.rbegin(); at != followers_.rend() && called < 50; ++at, ++called) {
      if (const auto follower = at->lock()) follower->OnStroke(stroke);
    }
  }

 private:
  std::vector<std::weak_ptr<Follower>> followers_;
};

class Gallery {
 public:
  Gallery() {
    for (int n = 0; n < 200; ++n) drawings_.push_back(std::make_unique<Drawing>());
  }
  void Open(long number, double now) {
    auto viewport = std::make_shared<Viewport>(800 + static_cast<int>(number % 7) * 100, number);
    drawings_[static_cast<size_t>(number * 31) % drawings_.size()]->Follow(viewport);
    looking_.emplace_back(now + 3, std::move(viewport));
  }
  void Draw(long number) {
    const float place = static_cast<float>(number % 400);
    drawings_[static_cast<size_t>(number * 17) % drawings_.size()]->Add({place, place / 2, 1});
  }
  unsigned Close(double now) {
    unsigned corners = 0;
    while (!looking_.empty() && looking_.front().first < now) {
      corners += looking_.front().second->Corner();
      looking_.pop_front();
    }
    return corners;
  }

 private:
  std::vector<std::unique_ptr<Drawing>> drawings_;
  std::deque<std::pair<double, std::shared_ptr<Viewport>>> looking_;
};

}  // namespace board

int main() {
  board::Gallery gallery;
  unsigned corners = 0;
  const double begin = seconds_now();
  for (long number = 0;;) {
    const double now = seconds_now();
    corners += gallery.Close(now);
    for (const long due = wait_due(begin, 2200, number); number < due; ++number) {
      gallery.Open(number, now);
      gallery.Draw(number);
    }
  }
  return static_cast<int>(corners);
}
