// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace oomw::pprof {

// For bytes that neither zlib nor protozero can read.
inline constexpr const char* kNotAProfile = "not a pprof profile: neither gzip nor a well-formed protobuf";

// Profiles are gzip by convention, but every reader of them accepts the bare protobuf as well.
[[nodiscard]] bool is_gzip(std::string_view bytes);

}  // namespace oomw::pprof
