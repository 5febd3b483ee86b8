// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "pprof/profile.h"

namespace oomw::pprof {

// `after` minus `before` as one profile, as `go tool pprof -diff_base before after` joins the two:
//   - samples of `before` are there with negated values and kept apart by the label that
//     `go tool pprof` knows them by, so that written out it is the same diff to that tool;
//   - functions are equal by name, file and start line; mappings by build id (else file), size and
//     offset, so that two runs of a program at other addresses meet; locations by their place in
//     the mapping and their lines; samples by locations and labels;
//   - samples that are 0 throughout are left out;
//   - sample types that only one of them has are left out, as `go tool pprof` of Go 1.27 does (that of
//     1.19 refuses): a trend's profiles have no allocations;
//   - values are taken as they are: heap profiles are scaled when written, whatever their period.
// kInvalid when the two do not count the same things: another period type, or no sample type in common.
[[nodiscard]] Result<Profile> diff(const Profile& before, const Profile& after);

[[nodiscard]] Result<> check_comparable(const Profile& before, const Profile& after);

// A sample that diff() took from `before`.
[[nodiscard]] bool is_base_sample(const Sample& sample);

// The whole that percentages refer to: the sum of |value| over the samples of the base, of all samples where
// there is no base or it holds nothing. Saturates.
[[nodiscard]] std::int64_t reference_total(const Profile& profile, int type_index);

}  // namespace oomw::pprof
