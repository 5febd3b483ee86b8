// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "pprof/group.h"

namespace oomw::pprof {

// "+57.7 MiB" of bytes, "+812" of anything else; 0 has no sign.
[[nodiscard]] std::string signed_amount(std::int64_t value, const std::string& unit);
[[nodiscard]] std::string amount(std::int64_t value, const std::string& unit);
// "inuse_space: 40.4 MiB -> 98.1 MiB (+57.7 MiB, +142.8 %)"
[[nodiscard]] std::string summary_line(const Growth& growth);

struct GrowthView {
  std::string noun;       // of one row: "function"
  std::size_t rows = 20;  // at most
  bool has_cum = true;    // a column for cum_growth
};

// A table, one line per row; rows that are stacks show their callers below. Names go through printable().
[[nodiscard]] std::string to_text(const Growth& growth, const GrowthView& view);

// The text of growth-diff.txt: what grew between two profiles by function, package, component (where
// `components` knows any) and stack. A reader finds the profiles by their names.
struct NamedProfile {
  std::string name;
  const Profile& profile;
};
// between: profiles of the same process in between, oldest first; if there are any, functions are shown over time.
[[nodiscard]] Result<std::string> growth_text(const NamedProfile& before, const NamedProfile& after,
                                              const std::string& type, const Classifier& components,
                                              const std::vector<NamedProfile>& between = {});
// Its first lines: which two profiles, when they were taken, and how far apart.
[[nodiscard]] std::string heading_text(const NamedProfile& before, const NamedProfile& after);

}  // namespace oomw::pprof
