// SPDX-License-Identifier: Apache-2.0
#include "pprof/top.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/text.h"

namespace oomw::pprof {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? kMax : -kMax;
}

std::uint64_t magnitude(std::int64_t value) {
  return value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

// Rows by function name, and for each location the rows it stands for, leaf first.
class RowTable {
 public:
  explicit RowTable(const Profile& profile) {
    for (const auto& f : profile.functions) functions_.emplace(f.id, &f.name);
    for (const auto& m : profile.mappings) mappings_.emplace(m.id, &m.filename);
    for (const auto& location : profile.locations) frames_.emplace(location.id, frames_of(location));
  }

  void add(const Sample& sample, std::int64_t value) {
    ++generation_;
    bool leaf = true;
    for (const std::uint64_t id : sample.location_ids) {
      const auto found = frames_.find(id);
      if (found == frames_.end()) continue;
      for (const std::size_t row : found->second) {
        if (std::exchange(leaf, false)) rows_[row].flat = saturating_add(rows_[row].flat, value);
        if (std::exchange(last_seen_[row], generation_) == generation_) continue;  // recursion
        rows_[row].cum = saturating_add(rows_[row].cum, value);
      }
    }
  }

  std::vector<TopRow> take_sorted() {
    std::erase_if(rows_, [](const TopRow& row) { return row.flat == 0 && row.cum == 0; });
    std::sort(rows_.begin(), rows_.end(), [](const TopRow& a, const TopRow& b) {
      if (a.flat != b.flat && magnitude(a.flat) != magnitude(b.flat)) return magnitude(a.flat) > magnitude(b.flat);
      if (magnitude(a.cum) != magnitude(b.cum)) return magnitude(a.cum) > magnitude(b.cum);
      return a.function < b.function;
    });
    return std::move(rows_);
  }

 private:
  // What go tool pprof shows for a frame that nobody named: the binary, or <unknown>.
  std::string name_of(const Location& location, std::uint64_t function_id) const {
    const auto function = functions_.find(function_id);
    if (function != functions_.end() && !function->second->empty()) return *function->second;
    const auto mapping = mappings_.find(location.mapping_id);
    if (mapping == mappings_.end() || mapping->second->empty()) return "<unknown>";
    return "[" + base_name(*mapping->second) + "]";
  }

  std::size_t row_of(const std::string& name) {
    const auto [entry, inserted] = index_.try_emplace(name, rows_.size());
    if (inserted) {
      rows_.push_back({name, 0, 0});
      last_seen_.push_back(0);
    }
    return entry->second;
  }

  std::vector<std::size_t> frames_of(const Location& location) {
    if (location.lines.empty()) return {row_of(name_of(location, 0))};
    std::vector<std::size_t> frames;
    for (const auto& line : location.lines) frames.push_back(row_of(name_of(location, line.function_id)));
    return frames;
  }

  std::unordered_map<std::uint64_t, const std::string*> functions_, mappings_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> frames_;
  std::unordered_map<std::string, std::size_t> index_;
  std::vector<TopRow> rows_;
  std::vector<std::uint64_t> last_seen_;  // generation_ of the last sample that counted, by row
  std::uint64_t generation_ = 0;
};

int chosen_type(const Profile& profile, const std::string& type) {
  const std::string& wanted = type.empty() ? profile.default_sample_type : type;
  if (wanted.empty()) return static_cast<int>(profile.sample_types.size()) - 1;
  return profile.type_index(wanted);
}

std::string scaled(std::int64_t value, const std::string& unit) {
  if (unit != "bytes") return std::to_string(value);
  constexpr std::array<const char*, 6> kUnits = {"B", "kB", "MB", "GB", "TB", "PB"};  // powers of 1024, as in Go
  double amount = static_cast<double>(value);
  std::size_t step = 0;
  while (std::abs(amount) >= 1024 && step + 1 < kUnits.size()) {
    amount /= 1024;
    ++step;
  }
  return step == 0 ? fmt::format("{}B", value) : fmt::format("{:.2f}{}", amount, kUnits[step]);
}

std::string percent(std::int64_t part, std::int64_t total) {
  return fmt::format("{:.2f}%",
                     total == 0 ? 0.0 : 100 * std::abs(static_cast<double>(part)) / static_cast<double>(total));
}

}  // namespace

Top top(const Profile& profile, const std::string& type) {
  Top result;
  const int index = chosen_type(profile, type);
  if (index < 0) return result;
  const auto column = static_cast<std::size_t>(index);
  result.type = profile.sample_types[column];
  RowTable table(profile);
  for (const auto& sample : profile.samples) {
    if (column >= sample.values.size() || sample.values[column] == 0) continue;
    const std::int64_t value = sample.values[column];
    result.total =
        saturating_add(result.total, static_cast<std::int64_t>(std::min<std::uint64_t>(magnitude(value), kMax)));
    table.add(sample, value);
  }
  result.rows = table.take_sorted();
  return result;
}

std::string to_text(const Top& top, std::size_t rows) {
  const std::size_t count = std::min(rows, top.rows.size());
  std::string out = fmt::format("Type: {}\n", printable(top.type.type));
  out += fmt::format("Showing top {} of {} functions, {} total\n", count, top.rows.size(),
                     scaled(top.total, top.type.unit));
  out += fmt::format("{:>10} {:>7} {:>7} {:>10} {:>7}\n", "flat", "flat%", "sum%", "cum", "cum%");
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const TopRow& row = top.rows[i];
    sum = saturating_add(sum, row.flat);
    out += fmt::format("{:>10} {:>7} {:>7} {:>10} {:>7}  {}\n", scaled(row.flat, top.type.unit),
                       percent(row.flat, top.total), percent(sum, top.total), scaled(row.cum, top.type.unit),
                       percent(row.cum, top.total), printable(row.function));
  }
  return out;
}

}  // namespace oomw::pprof
