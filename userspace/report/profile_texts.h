// SPDX-License-Identifier: Apache-2.0
// The texts of an incident's profiles for its report: the job of the reader, and who asks for it. Profiles are what a
// container's program wrote, or named.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "incident/incident.h"
#include "reader/reader_group.h"
#include "report/capture_top.h"

namespace oomw {

// "TEXT"; every kind of job differs.
inline constexpr std::uint32_t kProfileTextsJob = 0x54584554;

// Runs in the reader. files: the profiles in the order of the parameters, and an empty file that the texts go into.
[[nodiscard]] Result<std::string> profile_texts_job(std::string_view parameters, std::span<const UniqueFd> files);
// What the reader wrote: texts of these profiles only, of bounded length, every line printable. kInvalid: it is no such
// thing.
[[nodiscard]] Result<ProfileTexts> decode_profile_texts(std::string_view bytes,
                                                        std::span<const ReportProfile> profiles);

// As read_profiles(), by the reader. If that fails, the text of the best profile says why: an incident is written
// all the same. Any worker; takes 1 ms of a reader that is warm, and never more than `limit` and a second to wait for
// it.
[[nodiscard]] ReadTexts read_profiles_apart(const Incident& incident, const std::string& directory,
                                            reader::ReaderGroup& readers, const Clock& clock, Nanoseconds limit);

}  // namespace oomw
