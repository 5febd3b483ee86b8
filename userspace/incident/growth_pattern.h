// SPDX-License-Identifier: Apache-2.0
// How the growth of one place is spread over the time that was sampled.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/enum_names.h"

namespace oomw {

enum class GrowthPattern {
  kPersistent,  // it grew again and again up to the end
  kOneOff,      // it grew once, and not again
};
template <>
inline constexpr auto kEnumNames<GrowthPattern> = std::to_array<std::string_view>({"persistent", "one_off"});

// How many of them grew: by half of the mean of all at least, and by two levels. Memory that comes and goes may leave
// one behind: the kernel's count moves by 32 pages, so a fall to just below a level is not always seen.
[[nodiscard]] std::size_t parts_that_grew(std::span<const std::uint64_t> parts, std::uint64_t slot_bytes);

// `parts`: the bytes that stand at the end, by the equal part of the sampled time in which they came. So memory that
// comes and goes has its last round only.
//   - kPersistent: at least six parts of eight grew, and the last two together by half of the mean. A part or two may
//     be missing: a program waits, and a small place meets few levels.
//   - kOneOff: nine tenths came in two parts side by side, before the last two.
// nullopt: neither; or fewer levels than parts, or less than 5 s, where chance decides. Sampling begins at half of the
// limit, so that is a climb of some 10 s, below which a memory curve has no shape either (verdict/thresholds.h).
[[nodiscard]] std::optional<GrowthPattern> pattern_of(std::span<const std::uint64_t> parts, std::uint64_t slot_bytes,
                                                      double sampled_seconds);

}  // namespace oomw
