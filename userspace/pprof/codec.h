// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
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
// string_count: the length of its string table, for comment_member().
[[nodiscard]] Result<Profile> read(std::string_view bytes, const ReadLimits& limits = {},
                                   std::uint64_t* string_count = nullptr);
// gzip protobuf; deterministic for equal profiles.
[[nodiscard]] std::string write(const Profile& profile, std::uint64_t* string_count = nullptr);

// Comments for a gzip profile with so many strings: appended to its bytes, they are its last comments, and nothing else
// changes. The profile itself is not needed.
[[nodiscard]] std::string comment_member(std::uint64_t string_count, const std::vector<std::string>& comments);

[[nodiscard]] Result<std::string> gunzip(std::string_view bytes, std::size_t max_bytes);
[[nodiscard]] std::string gzip(std::string_view bytes);
// The same in pieces of at most 64 KiB, until `sink` fails.
[[nodiscard]] Result<> gzip_into(std::string_view bytes, const std::function<Result<>(std::string_view)>& sink);

}  // namespace oomw::pprof
