// SPDX-License-Identifier: Apache-2.0
// The check of a profile that a container's endpoint sent: the job of the reader, and who asks for it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "captures/profile_file.h"
#include "events/capture_terms.h"
#include "facts/profile_facts.h"
#include "reader/reader.h"

namespace oomw {

struct CheckedProfile {
  ProfileFacts facts;
  std::uint64_t string_count = 0;  // for pprof::comment_member()
  bool is_packed_anew = false;     // it was bare protobuf: its gzip is in the second file
};

// "CHKP"; every kind of job differs.
inline constexpr std::uint32_t kCheckProfileJob = 0x504b4843;

// Runs in the reader. files: the profile, and an empty file for its gzip if it is none. kInvalid and kLimit as
// facts_of_profile().
[[nodiscard]] Result<std::string> check_profile_job(std::string_view parameters, std::span<const UniqueFd> files);
// The reader's answer; kInvalid: it is none.
[[nodiscard]] Result<CheckedProfile> decode_checked_profile(std::string_view answer);

// Checks the profile and makes it gzip, if it is none. reader null: in this process, for programs that read one profile
// and end.
[[nodiscard]] tl::expected<CheckedProfile, CaptureFailure> check_profile(ProfileFile& profile,
                                                                         const OperationPatterns& patterns,
                                                                         MemoryBudget* memory, reader::Reader* reader,
                                                                         MonotonicTime deadline);

}  // namespace oomw
