// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace oomw::pprof {

// For bytes that neither zlib nor protozero can read.
inline constexpr const char* kNotAProfile = "not a pprof profile: neither gzip nor a well-formed protobuf";

[[nodiscard]] bool is_gzip(std::string_view bytes);
// Profiles are gzip by convention, but every reader of them accepts the bare protobuf as well.
[[nodiscard]] Result<std::string> unpack(std::string_view bytes, std::size_t max_bytes);

}  // namespace oomw::pprof
