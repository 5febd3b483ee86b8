// SPDX-License-Identifier: Apache-2.0
#include "verdict/suggested_limit.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "verdict/thresholds.h"

namespace oomw {

std::optional<SuggestedLimit> suggest_limit(const Evidence& evidence) {
  using threshold::kHeadroom, threshold::kLimitStepBytes;
  if (!(evidence.limit() > 0) || never_collects(evidence)) return std::nullopt;
  const double peak = std::max(evidence.curve ? evidence.curve->peak() : 0, evidence.limit());
  const double go_need = go_need_bytes(evidence).value_or(0);
  SuggestedLimit limit;
  limit.is_lower_bound = go_need <= peak;
  limit.bytes = static_cast<std::uint64_t>(
      std::min(std::ceil(std::max(peak, go_need) * kHeadroom / kLimitStepBytes), 1e9) * kLimitStepBytes);
  limit.why =
      limit.is_lower_bound
          ? fmt::format("1.2 times the {} that were in use when the limit cut the growth off", bytes_text(peak))
          : fmt::format(
                "1.2 times the {} that a live heap of {} grows to before Go collects it ({}), with what the "
                "process holds beside its heap",
                bytes_text(go_need), bytes_text(std::ranges::max_element(evidence.live, {}, &Reading::bytes)->bytes),
                go_pace(evidence.incident).said);
  return limit;
}

}  // namespace oomw
