// SPDX-License-Identifier: Apache-2.0
#include "pprof/profile.h"

#include <limits>

namespace oomw::pprof {

int Profile::type_index(const std::string& type) const {
  for (std::size_t i = 0; i < sample_types.size(); ++i) {
    if (sample_types[i].type == type) return static_cast<int>(i);
  }
  return -1;
}

std::int64_t Profile::total(int index) const {
  using Limits = std::numeric_limits<std::int64_t>;
  std::int64_t sum = 0;
  for (const auto& sample : samples) {
    if (index < 0 || static_cast<std::size_t>(index) >= sample.values.size()) continue;
    const std::int64_t value = sample.values[static_cast<std::size_t>(index)];
    if (__builtin_add_overflow(sum, value, &sum)) return value > 0 ? Limits::max() : Limits::min();
  }
  return sum;
}

}  // namespace oomw::pprof
