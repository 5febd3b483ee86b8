// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace oomw {

// The place of a string in a JSON document: object keys from the outside in, "#" for array items.
using JsonPath = std::vector<std::string>;

using OnJsonString = std::function<void(const JsonPath& path, const std::string& value)>;
using OnJsonObjectEnd = std::function<void(const JsonPath& path)>;

// Streams the strings of a hostile document without building a tree: 1 MiB of "[[[..." or "{},{},"
// would be 20-40 MiB of nodes. Nesting deeper than kMaxJsonDepth and malformed text are kInvalid;
// the strings before that have been passed on already.
inline constexpr std::size_t kMaxJsonDepth = 32;
[[nodiscard]] Result<> for_each_json_string(std::string_view json, const OnJsonString& on_string,
                                            const OnJsonObjectEnd& on_object_end = {});

}  // namespace oomw
