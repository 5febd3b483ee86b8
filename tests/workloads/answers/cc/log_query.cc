// SPDX-License-Identifier: Apache-2.0
// Counts lines of a log by a field. Fields with few values for 24 seconds; then somebody counts by the number of the
// request.
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "pace.h"

namespace query {

struct Line {
  uint32_t request;
  uint16_t status, host;
  float seconds;
};

class Aggregate {
 public:
  virtual ~Aggregate() = default;
  virtual void Add(const Line& line) = 0;
  virtual double Result() const = 0;
};

class LatencyHistogram : public Aggregate {
 public:
  void Add(const Line& line) override { ++buckets_[static_cast<int>(line.seconds * 10) % 16], ++count_; }
  double Result() const override { return count_; }

 private:
  uint32_t buckets_[16] = {};
  uint32_t count_ = 0;
};

using KeyOf = std::string (*)(const Line&);

std::string ByHost(const Line& line) { return "host-" + std::to_string(line.host); }
std::string ByStatus(const Line& line) { return std::to_string(line.status); }
std::string ByRequest(const Line& line) { return "request-" + std::to_string(line.request); }

__attribute__((noinline)) double GroupBy(const std::vector<Line>& lines, KeyOf key, size_t count) {
  std::unordered_map<std::string, std::unique_ptr<Aggregate>> groups;
  for (size_t i = 0; i < count; ++i) {
    auto& group = groups[key(lines[i])];
    if (!group) group = std::make_unique<LatencyHistogram>();
    group->Add(lines[i]);
  }
  double sum = 0;
  for (const auto& [name, group] : groups) sum += group->Result();
  return sum;
}

}  // namespace query

int main() {
  std::vector<query::Line> lines;
  for (uint32_t n = 0; n < 1'500'000; ++n) {
    lines.push_back({n, static_cast<uint16_t>(200 + n * 7 % 300), static_cast<uint16_t>(n % 900), n % 97 * 0.013f});
  }
  const double begin = seconds_now();
  double sum = 0;
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 5, number); number < due; ++number) {
      const bool by_request = number == 120;
      sum += query::GroupBy(lines,
                            by_request   ? query::ByRequest
                            : number % 2 ? query::ByHost
                                         : query::ByStatus,
                            by_request ? lines.size() : 150'000);
    }
  }
}
