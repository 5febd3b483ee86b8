// SPDX-License-Identifier: Apache-2.0
// Makes quotes for large blocks of shares when traders ask for them. A quote is firm for three seconds; after that it
// is withdrawn, and the trader asks again.
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "pace.h"

namespace desk {

class Quote {
 public:
  virtual ~Quote() = default;
  virtual double Price() const = 0;
};

class FirmQuote : public Quote {
 public:
  FirmQuote(long number, int share)
      : text_("block of share " + std::to_string(share) + ", asked as " + std::to_string(number)) {
    for (int n = 0; n < 24; ++n) levels_[n] = share + 0.01 * static_cast<double>((number * 31 + n) % 400);
  }
  double Price() const override { return levels_[0] + levels_[23]; }

 private:
  std::string text_;
  double levels_[24];
};

class QuoteBook {
 public:
  std::shared_ptr<Quote> Ask(long number, int trader, int share, double now) {
    auto quote = std::make_shared<FirmQuote>(number, share);
    firm_.emplace_back(now, number);
    by_number_[number] = quote;
    by_trader_[{trader, number}] = quote;
    return quote;
  }

  void Withdraw(double now) {
    while (!firm_.empty() && firm_.front().first < now - 3) {
      by_number_.erase(firm_.front().second);
      firm_.pop_front();
    }
  }

  double LastOf(int trader) const {
    const auto after = by_trader_.lower_bound({trader + 1, 0});
    return after == by_trader_.begin() ? 0 : std::prev(after)->second->Price();
  }

 private:
  std::deque<std::pair<double, long>> firm_;
  std::map<long, std::shared_ptr<Quote>> by_number_;
  std::map<std::pair<int, long>, std::shared_ptr<Quote>> by_trader_;
};

}  // namespace desk

int main() {
  desk::QuoteBook book;
  double sum = 0;
  const double begin = seconds_now();
  for (long number = 0;;) {
    const double now = seconds_now();
    book.Withdraw(now);
    for (const long due = wait_due(begin, 3000, number); number < due; ++number) {
      const int trader = static_cast<int>(number * 7919 % 250);
      sum += book.Ask(number, trader, static_cast<int>(number % 600), now)->Price() - book.LastOf(trader);
    }
  }
  return static_cast<int>(sum);
}
