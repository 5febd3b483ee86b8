// SPDX-License-Identifier: Apache-2.0
// How high the water stands after rain: each catchment is a grid of cells, computed for some steps and forgotten. Small
// ones for 24 seconds; then somebody asks for a whole river.
#include <cmath>
#include <vector>

#include "pace.h"

struct Cell {
  double ground, water, flow_x, flow_y;
};

class Catchment {
 public:
  __attribute__((noinline)) Catchment(int rows, int columns) {
    for (int y = 0; y < rows; ++y) {
      std::vector<Cell> row;
      for (int x = 0; x < columns; ++x) row.push_back({std::sin(x * 0.1) + std::cos(y * 0.07), 0, 0, 0});
      cells_.push_back(std::move(row));
    }
  }

  __attribute__((noinline)) double Rain(int steps) {
    double total = 0;
    for (int step = 0; step < steps; ++step) {
      for (size_t y = 1; y < cells_.size(); ++y) {
        for (size_t x = 1; x < cells_[y].size(); ++x) {
          Cell &here = cells_[y][x], &west = cells_[y][x - 1], &north = cells_[y - 1][x];
          here.water += 0.01;
          here.flow_x = (here.ground + here.water - west.ground - west.water) * 0.1;
          here.flow_y = (here.ground + here.water - north.ground - north.water) * 0.1;
          total += here.flow_x + here.flow_y;
        }
      }
    }
    return total;
  }

 private:
  std::vector<std::vector<Cell>> cells_;
};

__attribute__((noinline)) double ComputeFlood(int rows, int columns) {
  Catchment catchment(rows, columns);
  return catchment.Rain(6);
}

int main() {
  const double begin = seconds_now();
  double total = 0;
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 8, number); number < due; ++number) {
      const bool is_river = seconds_now() - begin > 24;
      total += is_river ? ComputeFlood(9000, 4000) : ComputeFlood(200, 250 + static_cast<int>(number % 40));
    }
  }
  return total > 0;
}
