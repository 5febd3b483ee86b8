// SPDX-License-Identifier: Apache-2.0
// An order book: closed orders are marked and stay in the map. Built without symbols.
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "pace.h"

namespace exchange {

class Order {
 public:
  virtual ~Order() = default;
  virtual bool is_open() const { return !closed_; }
  void close() { closed_ = true; }

 private:
  bool closed_ = false;
};

class LimitOrder : public Order {
 public:
  explicit LimitOrder(double price) : levels_{price} {}
  bool is_open() const override { return Order::is_open() && levels_[0] > 0; }

 private:
  double levels_[90];
};

class MarketOrder : public Order {
  std::int64_t quantity_[4] = {1};
};

std::unordered_map<std::uint64_t, std::unique_ptr<Order>> book;

void place(std::uint64_t id) {
  if (id % 4 == 0) {
    book[id] = std::make_unique<MarketOrder>();
  } else {
    book[id] = std::make_unique<LimitOrder>(1.0 + static_cast<double>(id));
  }
  book[id]->close();
}

}  // namespace exchange

int main() {
  const double begin = seconds_now();
  for (long id = 0;;) {
    for (const long due = wait_due(begin, 9000, id); id < due; ++id) exchange::place(static_cast<std::uint64_t>(id));
  }
}
