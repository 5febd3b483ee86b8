// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pprof/profile.h"

namespace oomw::pprof {

struct ReadLimits {
  std::size_t max_inflated_bytes = 256u << 20;  // a gzip bomb stops here
  std::size_t max_items = 4'000'000;            // samples + locations + functions + strings
};

// gzip or raw protobuf to a checked Profile. Every id and string index resolves, every sample has
// one value per type. kInvalid: not a profile ("truncated" in the message when the gzip stream or
// a field ends early); kLimit: too large.
[[nodiscard]] Result<Profile> read(std::string_view bytes, const ReadLimits& limits = {});
// gzip protobuf; deterministic for equal profiles.
[[nodiscard]] std::string write(const Profile& profile);

// The profile's bytes with comments appended and nothing else changed (protobuf merges appended
// fields), as gzip.
[[nodiscard]] Result<std::string> append_comments(std::string_view bytes, const std::vector<std::string>& comments,
                                                  const ReadLimits& limits = {});

[[nodiscard]] Result<std::string> gunzip(std::string_view bytes, std::size_t max_bytes);
[[nodiscard]] std::string gzip(std::string_view bytes);

}  // namespace oomw::pprof
