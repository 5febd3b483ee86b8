// SPDX-License-Identifier: Apache-2.0
#include "pprof/top.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "pprof/diff.h"
#include "pprof/frame_names.h"
#include "pprof/growth_text.h"
#include "pprof/saturating.h"

namespace oomw::pprof {
namespace {

// Rows by function name.
class RowTable {
 public:
  explicit RowTable(const Profile& profile)
      : frames_(names_.add(profile)), rows_(names_.size()), last_seen_(names_.size()) {}

  // False: the FrameBudget is used up.
  [[nodiscard]] bool add(const Sample& sample, std::int64_t value) {
    ++generation_;
    const FrameNames::Stack stack = FrameNames::stack_of(sample, frames_);
    if (!budget_.take(stack.size())) return false;
    if (!stack.empty()) rows_[stack.front()].flat = saturating_add(rows_[stack.front()].flat, value);
    for (const std::uint32_t row : stack) {
      if (std::exchange(last_seen_[row], generation_) == generation_) continue;  // recursion
      rows_[row].cum = saturating_add(rows_[row].cum, value);
    }
    return true;
  }

  std::vector<TopRow> take_sorted() {
    for (std::uint32_t row = 0; row < rows_.size(); ++row) rows_[row].function = names_.name(row);
    std::erase_if(rows_, [](const TopRow& row) { return row.flat == 0 && row.cum == 0; });
    std::sort(rows_.begin(), rows_.end(), [](const TopRow& a, const TopRow& b) {
      if (magnitude(a.flat) != magnitude(b.flat)) return magnitude(a.flat) > magnitude(b.flat);
      if (magnitude(a.cum) != magnitude(b.cum)) return magnitude(a.cum) > magnitude(b.cum);
      return a.function < b.function;
    });
    return std::move(rows_);
  }

 private:
  FrameNames names_;
  FrameNames::ByLocation frames_;
  FrameBudget budget_;
  std::vector<TopRow> rows_;              // by the number of its name
  std::vector<std::uint64_t> last_seen_;  // generation_ of the last sample that counted, by row
  std::uint64_t generation_ = 0;
};

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
  result.total = reference_total(profile, index);
  RowTable table(profile);
  for (const auto& sample : profile.samples) {
    if (column >= sample.values.size() || sample.values[column] == 0) continue;
    if (!table.add(sample, sample.values[column])) ++result.left_out;
  }
  result.rows = table.take_sorted();
  return result;
}

std::string to_text(const Top& top, std::size_t rows) {
  const std::size_t count = std::min(rows, top.rows.size());
  std::string out = fmt::format("Type: {}\n", printable(top.type.type));
  out += fmt::format("Showing top {} of {} functions, {} total\n", count, top.rows.size(),
                     amount(top.total, top.type.unit));
  if (top.left_out > 0) out += fmt::format("{} stacks are not counted: all are too deep together\n", top.left_out);
  out += fmt::format("{:>10} {:>7} {:>7} {:>10} {:>7}\n", "flat", "flat%", "sum%", "cum", "cum%");
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const TopRow& row = top.rows[i];
    sum = saturating_add(sum, row.flat);
    out += fmt::format("{:>10} {:>7} {:>7} {:>10} {:>7}  {}\n", amount(row.flat, top.type.unit),
                       percent(row.flat, top.total), percent(sum, top.total), amount(row.cum, top.type.unit),
                       percent(row.cum, top.total), printable(row.function));
  }
  return out;
}

}  // namespace oomw::pprof
