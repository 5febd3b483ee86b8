// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "pprof/profile.h"

namespace oomw::pprof {

// `after` minus `before` as one profile, as `go tool pprof -diff_base before after` joins the two:
//   - samples of `before` have negated values and the label by which `go tool pprof` distinguishes
//     them, so that the written profile is the same diff to that tool;
//   - functions are equal by name, file and start line; mappings by build id (else file), size and
//     offset, so that two runs of a program at different addresses match; locations by their place
//     in the mapping and their lines; samples by locations and labels;
//   - samples whose values are all 0 are left out;
//   - sample types that only one profile has are left out, as `go tool pprof` of Go 1.27 does (that of
//     1.19 refuses): a trend's profiles have no allocations;
//   - values are taken as they are: heap profiles are scaled when written, whatever their period.
// kInvalid when the two count different things: their period types differ, or they share no sample type.
[[nodiscard]] Result<Profile> diff(const Profile& before, const Profile& after);

[[nodiscard]] Result<> check_comparable(const Profile& before, const Profile& after);

// A sample that diff() took from `before`.
[[nodiscard]] bool is_base_sample(const Sample& sample);

// The total that percentages refer to: the sum of |value| over the samples of the base, or over all samples if
// there is no base or its sum is 0. Saturates.
[[nodiscard]] std::int64_t reference_total(const Profile& profile, int type_index);

}  // namespace oomw::pprof
