// SPDX-License-Identifier: Apache-2.0
#include "pprof/group.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "pprof/diff.h"
#include "pprof/frame_names.h"
#include "pprof/saturating.h"

namespace oomw::pprof {
namespace {

using Stack = FrameNames::Stack;

// How stacks become groups. Groups are numbered from 0 as they are met.
class Grouping {
 public:
  virtual ~Grouping() = default;
  // The groups that the stack counts for, the leaf's first. Empty: none.
  [[nodiscard]] virtual Stack groups_of(const Stack& stack) = 0;
  [[nodiscard]] virtual std::string name(std::uint32_t group) const = 0;
  [[nodiscard]] virtual std::vector<std::string> stack(std::uint32_t) const { return {}; }
};

class ByFunction final : public Grouping {
 public:
  explicit ByFunction(const FrameNames& names) : names_(names) {}
  Stack groups_of(const Stack& stack) override { return stack; }
  [[nodiscard]] std::string name(std::uint32_t group) const override { return names_.name(group); }

 private:
  const FrameNames& names_;
};

class ByStack final : public Grouping {
 public:
  explicit ByStack(const FrameNames& names) : names_(names) {}
  Stack groups_of(const Stack& stack) override {
    const auto [entry, is_new] = numbers_.try_emplace(stack, static_cast<std::uint32_t>(stacks_.size()));
    if (is_new) stacks_.push_back(&entry->first);
    return {entry->second};
  }
  [[nodiscard]] std::string name(std::uint32_t group) const override {
    return stacks_[group]->empty() ? "" : names_.name(stacks_[group]->front());
  }
  [[nodiscard]] std::vector<std::string> stack(std::uint32_t group) const override {
    std::vector<std::string> functions;
    for (const std::uint32_t frame : *stacks_[group]) functions.push_back(names_.name(frame));
    return functions;
  }

 private:
  const FrameNames& names_;
  std::map<Stack, std::uint32_t> numbers_;
  std::vector<const Stack*> stacks_;  // keys of numbers_
};

class GroupNumbers {
 public:
  std::uint32_t of(const std::string& name) {
    const auto [entry, is_new] = numbers_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(&entry->first);
    return entry->second;
  }
  [[nodiscard]] const std::string& name(std::uint32_t group) const { return *names_[group]; }

 private:
  std::map<std::string, std::uint32_t> numbers_;
  std::vector<const std::string*> names_;  // keys of numbers_
};

class ByPackage final : public Grouping {
 public:
  explicit ByPackage(const FrameNames& names) {
    for (std::uint32_t i = 0; i < names.size(); ++i) {
      packages_.push_back(numbers_.of(std::string(package_of(names.name(i)))));
    }
  }
  Stack groups_of(const Stack& stack) override {
    Stack groups;
    for (const std::uint32_t frame : stack) groups.push_back(packages_[frame]);
    return groups;
  }
  [[nodiscard]] std::string name(std::uint32_t group) const override { return numbers_.name(group); }

 private:
  GroupNumbers numbers_;
  Stack packages_;  // by number of the function's name
};

class ByClassifier final : public Grouping {
 public:
  ByClassifier(const FrameNames& names, const Classifier& classify) {
    for (std::uint32_t i = 0; i < names.size(); ++i) {
      const Group group = classify(names.name(i));
      groups_.push_back({group.name.empty() ? kNobody : numbers_.of(group.name), group.is_helper});
    }
  }
  Stack groups_of(const Stack& stack) override {
    std::uint32_t helper = kNobody;
    for (const std::uint32_t frame : stack) {
      const auto& [group, is_helper] = groups_[frame];
      if (group != kNobody && !is_helper) return {group};
      if (helper == kNobody) helper = group;
    }
    return {helper};
  }
  [[nodiscard]] std::string name(std::uint32_t group) const override { return numbers_.name(group); }

 private:
  static constexpr std::uint32_t kNobody = 0;
  GroupNumbers numbers_ = with_nobody();
  std::vector<std::pair<std::uint32_t, bool>> groups_;  // by number of the function's name; true: a helper's

  static GroupNumbers with_nobody() {
    GroupNumbers numbers;
    (void)numbers.of("");
    return numbers;
  }
};

// The sums of each group.
class Tally {
 public:
  void add(const Stack& groups, std::int64_t value, bool is_after) {
    ++generation_;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i] >= rows_.size()) grow(groups[i] + 1);
      GroupRow& row = rows_[groups[i]];
      if (i == 0) add_to(is_after ? row.after : row.before, value);
      if (std::exchange(last_seen_[groups[i]], generation_) == generation_) continue;  // recursion
      add_to(is_after ? row.cum_after : row.cum_before, value);
    }
  }

  void move_to(Growth& out, const Grouping& grouping) {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].growth() == 0 && rows_[i].cum_growth() == 0) continue;
      rows_[i].name = grouping.name(i);
      order.push_back(i);
    }
    out.groups = order.size();
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return is_before(rows_[a], rows_[b]); });
    if (order.size() > kMaxGroupRows) order.resize(kMaxGroupRows);
    for (const std::uint32_t i : order) {
      rows_[i].stack = grouping.stack(i);
      out.rows.push_back(std::move(rows_[i]));
    }
  }

 private:
  static void add_to(std::int64_t& sum, std::int64_t value) { sum = saturating_add(sum, value); }

  static bool is_before(const GroupRow& a, const GroupRow& b) {
    if (magnitude(a.growth()) != magnitude(b.growth())) return magnitude(a.growth()) > magnitude(b.growth());
    if (magnitude(a.cum_growth()) != magnitude(b.cum_growth())) {
      return magnitude(a.cum_growth()) > magnitude(b.cum_growth());
    }
    return a.name < b.name;
  }

  void grow(std::size_t size) {
    rows_.resize(std::max(size, rows_.size()));
    last_seen_.resize(rows_.size());
  }

  std::vector<GroupRow> rows_;            // by group
  std::vector<std::uint64_t> last_seen_;  // generation_ of the last stack that counted, by group
  std::uint64_t generation_ = 0;
};

// Two profiles with one numbering of their functions.
struct Pair {
  const Profile& before;
  const Profile& after;
  int column_before = -1, column_after = -1;
  FrameNames names;
  FrameNames::ByLocation frames_before, frames_after;
};

Result<> add_all(Tally& tally, const Pair& pair, bool is_after, Grouping& grouping) {
  const auto column = static_cast<std::size_t>(is_after ? pair.column_after : pair.column_before);
  FrameBudget budget;
  for (const auto& sample : (is_after ? pair.after : pair.before).samples) {
    if (column >= sample.values.size() || sample.values[column] == 0) continue;
    const Stack stack = FrameNames::stack_of(sample, is_after ? pair.frames_after : pair.frames_before);
    if (!budget.take(stack.size())) return fail(ErrorCode::kLimit, "the profile's stacks are too deep to be compared");
    tally.add(grouping.groups_of(stack), sample.values[column], is_after);
  }
  return {};
}

Result<Growth> growth_in(const Pair& pair, Grouping& grouping) {
  Growth out;
  out.type = pair.after.sample_types[static_cast<std::size_t>(pair.column_after)];
  out.before = pair.before.total(pair.column_before);
  out.after = pair.after.total(pair.column_after);
  out.reference = reference_total(pair.before, pair.column_before);
  if (out.reference == 0) out.reference = reference_total(pair.after, pair.column_after);
  Tally tally;
  RETURN_IF_ERROR(add_all(tally, pair, false, grouping));
  RETURN_IF_ERROR(add_all(tally, pair, true, grouping));
  tally.move_to(out, grouping);
  return out;
}

// The type's index in `before`; -1 if it has no such type.
int same_type(const Profile& before, const Profile& after, int column_after) {
  const auto& types = before.sample_types;
  const auto found = std::ranges::find(types, after.sample_types[static_cast<std::size_t>(column_after)]);
  return found == types.end() ? -1 : static_cast<int>(found - types.begin());
}

Result<Pair> make_pair_of(const Profile& before, const Profile& after, const std::string& type) {
  RETURN_IF_ERROR(check_comparable(before, after));
  Pair pair{before, after, -1, chosen_type(after, type), {}, {}, {}};
  if (pair.column_after >= 0) pair.column_before = same_type(before, after, pair.column_after);
  if (pair.column_before < 0)
    return fail(ErrorCode::kInvalid, fmt::format("no sample type '{}' in both profiles", printable(type, 64)));
  pair.frames_before = pair.names.add(before);
  pair.frames_after = pair.names.add(after);
  return pair;
}

template <typename By, typename... Arguments>
Result<Growth> growth_of(const Profile& before, const Profile& after, const std::string& type,
                         const Arguments&... arguments) {
  ASSIGN_OR_RETURN(const Pair pair, make_pair_of(before, after, type));
  By grouping(pair.names, arguments...);
  return growth_in(pair, grouping);
}

}  // namespace

std::int64_t GroupRow::growth() const { return saturating_add(after, negated(before)); }
std::int64_t GroupRow::cum_growth() const { return saturating_add(cum_after, negated(cum_before)); }

std::string_view package_of(std::string_view function) {
  // Type parameters and signatures hold paths of their own.
  const std::string_view cpp = function.substr(0, function.find_first_of("(<["));
  if (const std::size_t scope = cpp.rfind("::"); scope != std::string_view::npos) return cpp.substr(0, scope);
  const std::string_view go = function.substr(0, function.find('['));
  const std::size_t slash = go.rfind('/');
  const std::size_t dot = go.find('.', slash == std::string_view::npos ? 0 : slash);
  return dot == std::string_view::npos ? std::string_view() : go.substr(0, dot);
}

Result<Growth> growth_by_function(const Profile& before, const Profile& after, const std::string& type) {
  return growth_of<ByFunction>(before, after, type);
}

Result<Growth> growth_by_stack(const Profile& before, const Profile& after, const std::string& type) {
  return growth_of<ByStack>(before, after, type);
}

Result<Growth> growth_by_package(const Profile& before, const Profile& after, const std::string& type) {
  return growth_of<ByPackage>(before, after, type);
}

Result<Growth> growth_by(const Profile& before, const Profile& after, const std::string& type,
                         const Classifier& classify) {
  return growth_of<ByClassifier>(before, after, type, classify);
}

}  // namespace oomw::pprof
