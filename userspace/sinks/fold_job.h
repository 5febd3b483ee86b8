// SPDX-License-Identifier: Apache-2.0
// A profile is made small enough for a profile store in the reader process: its bytes may be anyone's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "reader/reader.h"
#include "store/stored_files.h"

namespace oomw {

inline constexpr std::uint32_t kFoldProfileJob = 0x444c4f46;

enum class FoldedForm : std::uint8_t {
  kPprof,  // gzip
  kOtlp,   // the two texts of an OtlpProfile, by WireWriter
};
// The profile, folded (pprof/fold.h). kLimit: too large to read. `now`: of the monotonic clock.
[[nodiscard]] Result<std::string> fold_profile(const StoredFile& profile, FoldedForm form, reader::Reader& reader,
                                               MonotonicTime now);
// The half that runs in the reader. files: the profile; a file in memory for the result.
[[nodiscard]] Result<std::string> fold_profile_job(std::string_view parameters, std::span<const UniqueFd> files);

}  // namespace oomw
