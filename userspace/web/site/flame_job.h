// SPDX-License-Identifier: Apache-2.0
// A flame graph's data: the job of the reader process, and how it is asked for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "facts/operation_patterns.h"
#include "pprof/profile.h"

namespace oomw {

struct FlameQuestion {
  std::string by = "function";  // function | package | component | operation
  std::string mode = "held";    // held | growth: what `base` held less is left out | diff: growth and shrinkage
  std::string type;             // a sample type; "" = the profile's default
  OperationPatterns patterns{};
};

// "FLAM"; every kind of job differs.
inline constexpr std::uint32_t kFlameJob = 0x4d414c46;
inline constexpr std::size_t kMaxFlameProfile = 32u << 20;  // as a file
inline constexpr std::size_t kMaxFlameAnswer = 16u << 20;   // 20,000 frames take about 1 MiB

// A question that names something else is kInvalid.
[[nodiscard]] Result<> check(const FlameQuestion& question);
[[nodiscard]] std::string encode(const FlameQuestion& question);

// Runs in the reader. files: an empty file for the answer, the profile, and for growth and diff the earlier one.
[[nodiscard]] Result<std::string> flame_job(std::string_view parameters, std::span<const UniqueFd> files);

// The answer: {by, mode, type, unit, types[], title, total, reference, cut_stacks, names[[name, module]],
// frames[[depth, name, start, size, net, folded]]}. Frames come parents first; a name of -1 is the whole, -2 "(folded
// more)", -3 "(deeper calls)". Pure. before: may be null. kInvalid: no such sample type, or not comparable.
[[nodiscard]] Result<std::string> flame_json(const FlameQuestion& question, pprof::Profile after,
                                             const pprof::Profile* before);

}  // namespace oomw
