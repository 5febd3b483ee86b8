// SPDX-License-Identifier: Apache-2.0
// trend.json, schema_version 1, as a struct. Unknown = nullopt, "" or a number that is not finite.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "events/ids.h"

namespace oomw {

struct TrendDocument {
  static constexpr int kSchemaVersion = 1;
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();  // null in the file
  struct Reading {
    WallTime time;
    std::string origin;
    bool is_baseline = false;
    std::optional<std::uint32_t> gc_cycle;
    std::uint64_t live_bytes = 0, held_bytes = 0, buckets = 0;
    bool is_complete = false;
    std::string file;  // in the incident's directory; "" = none
  };
  // SiteTrend, with the names of its frames.
  struct Site {
    std::string judgement;
    std::uint64_t readings = 0;
    double growth_share = kUnknown, pair_share = kUnknown, chance = kUnknown;
    double slope = kUnknown, slope_low = kUnknown, slope_high = kUnknown;  // bytes per second
    double gained_bytes = kUnknown, noise_bytes = kUnknown, return_share = kUnknown;
    double first_bytes = kUnknown, last_bytes = kUnknown, held_first_bytes = kUnknown, held_last_bytes = kUnknown;
    std::optional<std::vector<std::string>> frames;  // nullopt: the whole heap
  };
  // LeakReport.
  struct Judged {
    std::uint64_t readings = 0;
    double span_seconds = kUnknown;
    std::uint64_t sites_seen = 0, sites_tested = 0;
    double confidence = kUnknown;
    Site whole;
    std::uint64_t suspects = 0, likely = 0;
    bool is_undecided = false;
    std::vector<Site> sites;
  };

  ProcessKey process;
  std::string of;                 // the runtime; "" = go. Of others, frames are what it is and the name that holds it
  std::vector<Reading> readings;  // oldest first
  Judged judged;
};

[[nodiscard]] std::string to_json(const TrendDocument& document);
// Unknown keys are ignored; a wrong type is kInvalid and names the field.
[[nodiscard]] Result<TrendDocument> trend_document_from_json(std::string_view text);

}  // namespace oomw
