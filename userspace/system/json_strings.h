// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace oomw {

// Where a string stands in a JSON document: object keys from the outside in, "#" for array items.
using JsonPath = std::vector<std::string>;

using OnJsonString = std::function<void(const JsonPath& path, const std::string& value)>;
using OnJsonObjectEnd = std::function<void(const JsonPath& path)>;

// Streams the strings of a hostile document, with no tree in between: 1 MiB of "[[[..." or
// "{},{}," would be 20-40 MiB of nodes. Nesting deeper than kMaxJsonDepth and malformed text are
// kInvalid; strings passed on before that stay passed on.
inline constexpr std::size_t kMaxJsonDepth = 32;
[[nodiscard]] Result<> for_each_json_string(std::string_view json, const OnJsonString& on_string,
                                            const OnJsonObjectEnd& on_object_end = {});

}  // namespace oomw
