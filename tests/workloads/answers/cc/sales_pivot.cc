// SPDX-License-Identifier: Apache-2.0
// Makes pivot tables of a shop's sales: for each combination of the dimensions that a user has chosen there is a cell
// with sum and extremes. Tables are sent and forgotten.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "pace.h"

struct Sale {
  int shop, article, day, seller;
  double amount;
};

struct Cell {
  double sum = 0, least = 1e9, most = 0;
  long count = 0;
  std::string label;
};

class PivotTable {
 public:
  Cell& CellFor(const std::string& key) {
    Cell& cell = cells_[key];
    if (cell.count == 0) cell.label = "Sales of " + key;
    return cell;
  }
  void Add(const std::string& key, double amount) {
    Cell& cell = CellFor(key);
    cell.sum += amount;
    cell.least = std::min(cell.least, amount);
    cell.most = std::max(cell.most, amount);
    ++cell.count;
  }
  double Largest() const {
    double largest = 0;
    for (const auto& [key, cell] : cells_) largest = std::max(largest, cell.sum);
    return largest;
  }

 private:
  std::unordered_map<std::string, Cell> cells_;
};

static Sale ReadSale(long number) {
  return {static_cast<int>(number * 31 % 41), static_cast<int>(number * 7919 % 3001),
          static_cast<int>(number * 104729 % 367), static_cast<int>(number * 13 % 211),
          static_cast<double>(number % 997) / 10};
}

__attribute__((noinline)) static double BuildPivot(const std::vector<std::string>& dimensions, long sales) {
  PivotTable table;
  for (long number = 0; number < sales; ++number) {
    const Sale sale = ReadSale(number);
    std::string key;
    for (const std::string& dimension : dimensions) {
      const int value = dimension == "shop" ? sale.shop : dimension == "day" ? sale.day : sale.article;
      key += dimension + "=" + std::to_string(value) + ";";
    }
    table.Add(key, sale.amount);
    if (number % 2000 == 1999) usleep(28 * 1000);  // the sales come from a database
  }
  return table.Largest();
}

int main() {
  const double begin = seconds_now();
  double largest = 0;
  bool asked = false;
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 8, number); number < due; ++number) {
      largest +=
          BuildPivot(number % 2 ? std::vector<std::string>{"shop"} : std::vector<std::string>{"shop", "day"}, 1500);
      if (!asked && seconds_now() - begin > 25) {
        asked = true;
        largest += BuildPivot({"shop", "day", "article"}, 3000000);
      }
    }
  }
  return static_cast<int>(largest);
}
