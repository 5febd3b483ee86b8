// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trends/heap_trend.h"

namespace oomw {

// One call site over the readings that count. Block sizes are merged.
struct SiteSeries {
  std::uint32_t site = SiteTable::kNone;             // kNone: the whole heap
  std::vector<double> live_bytes;                    // live at the last collection, scaled against sampling
  std::vector<double> variance;                      // of each, from sampling alone
  double held_first_bytes = 0, held_last_bytes = 0;  // at the baseline and at the newest reading of all

  [[nodiscard]] double least() const;
  [[nodiscard]] double most() const;
};

// Readings of one process as columns, from the baseline on unless noted otherwise.
struct TrendSeries {
  std::vector<double> seconds;  // since the baseline; ascending
  std::vector<SiteSeries> sites;
  SiteSeries whole;
  std::size_t sites_seen = 0;
};

// Only readings of whole lists count, and of those between which no collection published its counts only the first: the
// live bytes cannot have changed between them. Sites whose live bytes differ by less than `least_range_bytes` over all
// readings are left out, but counted in sites_seen. `whole` includes the bytes of sites that found no room in the
// table. Of readings that list only their largest holdings, see TrendReading::unlisted_bytes, only sites count that the
// later half of them lists throughout.
[[nodiscard]] TrendSeries series_of(const HeapTrend& trend, double least_range_bytes);
// From reading `first` on.
[[nodiscard]] TrendSeries series_of(const HeapTrend& trend, double least_range_bytes, std::size_t first);

}  // namespace oomw
