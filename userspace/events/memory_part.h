// SPDX-License-Identifier: Apache-2.0
// Names of parts of a process's memory that verdicts judge by. Parts with other names are only shown.
#pragma once

#include <string_view>

namespace oomw::memory_part {

inline constexpr std::string_view kJavaHeap = "Java heap";
inline constexpr std::string_view kDirectBuffers = "direct buffers";
inline constexpr std::string_view kThreadStacks = "thread stacks";
inline constexpr std::string_view kMetaspace = "metaspace";
inline constexpr std::string_view kUnexplained = "unexplained";

}  // namespace oomw::memory_part
