// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pprof/profile.h"

namespace oomw::pprof {

// A group's bytes (or objects) in two profiles of a program, in the sample type's unit.
struct GroupRow {
  std::string name;
  std::vector<std::string> stack;              // of a group that is one stack: its functions, leaf first
  std::int64_t before = 0, after = 0;          // of the stacks whose leaf is in the group
  std::int64_t cum_before = 0, cum_after = 0;  // of the stacks with any frame in it, each stack once
  [[nodiscard]] std::int64_t growth() const;
  [[nodiscard]] std::int64_t cum_growth() const;
};

struct Growth {
  ValueType type;
  std::int64_t before = 0, after = 0;  // sums over all samples
  std::int64_t reference = 0;          // percentages refer to it, as in `go tool pprof -diff_base`
  // By |growth| descending, then |cum_growth|, then name; none without any growth; at most kMaxGroupRows.
  std::vector<GroupRow> rows;
  std::size_t groups = 0;  // that grew or shrank, also beyond the rows
};

inline constexpr std::size_t kMaxGroupRows = 10'000;

// The group of a function: "" = none. A helper's group counts only if the stack has no other (the
// Collector's exporterhelper serves every exporter).
struct Group {
  std::string name;
  bool is_helper = false;
};
using Classifier = std::function<Group(const std::string& function)>;

// The import path of a Go function's package, "net/http" of "net/http.(*conn).serve"; for other
// names the text before the last "::", else "".
[[nodiscard]] std::string_view package_of(std::string_view function);

// Growth from `before` to `after`, by function (the figures of `go tool pprof -diff_base`), by
// whole stack, by package of the function, or by classifier.
// By classifier, a whole stack belongs to the group of the innermost frame that has one, so flat and cum
// are the same; stacks without a group are in the row named "".
// type "" = the default of `after`. kInvalid: the profiles cannot be compared (diff()), or no such type;
// kLimit: more stack frames than any program has (FrameBudget).
[[nodiscard]] Result<Growth> growth_by_function(const Profile& before, const Profile& after, const std::string& type);
[[nodiscard]] Result<Growth> growth_by_stack(const Profile& before, const Profile& after, const std::string& type);
[[nodiscard]] Result<Growth> growth_by_package(const Profile& before, const Profile& after, const std::string& type);
[[nodiscard]] Result<Growth> growth_by(const Profile& before, const Profile& after, const std::string& type,
                                       const Classifier& classify);

}  // namespace oomw::pprof
