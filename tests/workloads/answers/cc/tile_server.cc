// SPDX-License-Identifier: Apache-2.0
// Serves tiles of a map from a cache of 2000 of them. A tile is pinned while it is sent, so that it is not dropped
// then; a request that is broken off leaves before it unpins.
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "pace.h"

namespace maps {

class Layer {
 public:
  virtual ~Layer() = default;
  virtual size_t Draw() = 0;
};

class RoadLayer : public Layer {
 public:
  explicit RoadLayer(uint64_t key) {
    for (int n = 0; n < 110; ++n) points_[n] = static_cast<float>((key * 31 + n * 7919) % 4096);
  }
  size_t Draw() override {
    size_t drawn = 0;
    for (const float point : points_) drawn += point > 2048;
    return drawn;
  }

 private:
  float points_[110];
};

class VectorTile {
 public:
  explicit VectorTile(uint64_t key) : key_(key), name_("tile of the town at " + std::to_string(key)) {
    roads_ = std::make_unique<RoadLayer>(key);
  }
  virtual ~VectorTile() = default;
  virtual size_t Send() { return roads_->Draw() + name_.size(); }
  uint64_t key() const { return key_; }
  int pins = 0;

 private:
  uint64_t key_;
  std::string name_;
  std::unique_ptr<Layer> roads_;
};

class TileCache {
 public:
  VectorTile* Pin(uint64_t key) {
    auto& place = by_key_[key];
    if (!place) {
      place = new VectorTile(key);
      used_.push_back(place);
      DropUnpinned();
    }
    ++place->pins;
    return place;
  }
  void Unpin(VectorTile* tile) { --tile->pins; }

 private:
  void DropUnpinned() {
    for (int looked = 0; by_key_.size() > 2000 && looked < 4; ++looked) {
      VectorTile* eldest = used_.front();
      used_.pop_front();
      if (eldest->pins > 0) {
        used_.push_back(eldest);
        continue;
      }
      by_key_.erase(eldest->key());
      delete eldest;
    }
  }

  std::unordered_map<uint64_t, VectorTile*> by_key_;
  std::list<VectorTile*> used_;
};

}  // namespace maps

int main() {
  maps::TileCache cache;
  size_t sent = 0;
  const double begin = seconds_now();
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 5000, number); number < due; ++number) {
      auto* tile = cache.Pin(static_cast<uint64_t>(number * 104729 % 3000017));
      sent += tile->Send();
      if (number % 5 < 2) continue;  // broken off
      cache.Unpin(tile);
    }
  }
  return static_cast<int>(sent);
}
