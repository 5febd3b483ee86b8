// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pprof/profile.h"

namespace oomw::pprof {

struct TopRow {
  std::string function;
  std::int64_t flat = 0;  // in the sample type's unit
  std::int64_t cum = 0;   // each function once per sample, also when recursive
};

struct Top {
  ValueType type;
  std::int64_t total = 0;    // 100 % for all percentages: reference_total()
  std::size_t left_out = 0;  // stacks of a hostile profile beyond a FrameBudget: in the total, in no row
  std::vector<TopRow> rows;  // by |flat| descending, then |cum| descending, then name
};

// The same figures as `go tool pprof -top -sample_index=TYPE` before its node dropping; for a diff()
// those of `-diff_base`. Only the first FrameNames::kMaxStackFrames frames of a stack count, from the leaf on.
// type "" = the profile's default.
[[nodiscard]] Top top(const Profile& profile, const std::string& type = "");
// Text table like go tool pprof's, at most `rows` rows. Function names go through printable().
[[nodiscard]] std::string to_text(const Top& top, std::size_t rows);

}  // namespace oomw::pprof
