// SPDX-License-Identifier: Apache-2.0
// What a bucket answers. Foreign bytes; pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace oomw {

struct S3Object {
  std::string key;
  std::uint64_t bytes = 0;
};

// One page of ListObjectsV2.
struct S3Listing {
  std::vector<S3Object> objects;
  std::vector<std::string> common_prefixes;  // each ends in the delimiter
  std::string continuation;                  // for the next page; "" = this is the last
};

inline constexpr std::size_t kMaxListedObjects = 1'000;  // of a page, as S3 has it
inline constexpr std::size_t kMaxKeyBytes = 1'024;       // likewise

[[nodiscard]] Result<S3Listing> parse_listing(std::string_view xml);

struct S3Error {
  std::string code, message;  // printable; "" = the body names none
};
[[nodiscard]] S3Error parse_s3_error(std::string_view xml);

}  // namespace oomw
