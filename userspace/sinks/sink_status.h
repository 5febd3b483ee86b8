// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "sinks/delivery.h"

namespace oomw {

// How a sink does, for `oomwitness doctor`, which runs in another process: <data-dir>/sink-<name>.json. Written by the
// sink's thread when it begins to fail, works again, or fails in another way.
struct SinkStatus {
  bool is_failing = false;  // the last try failed, and it will be tried again
  DeliveryReason reason = DeliveryReason::kNone;
  std::string detail;
  std::optional<WallTime> since;
  friend bool operator==(const SinkStatus& a, const SinkStatus& b) {
    return a.is_failing == b.is_failing && a.reason == b.reason;
  }
};

[[nodiscard]] std::optional<SinkStatus> parse_sink_status(std::string_view text);
[[nodiscard]] std::optional<SinkStatus> load_sink_status(const std::string& data_dir, const std::string& sink);
[[nodiscard]] Result<> save_sink_status(const std::string& data_dir, const std::string& sink, const SinkStatus& status);

// What the disk says about one sink.
struct SinkSurvey {
  std::string sink;
  std::optional<SinkStatus> status;
  std::size_t sent = 0, unsent = 0, dead = 0;
  std::size_t without = 0;  // incidents that had nothing for it, such as a profile
  std::string last_dead;    // "20261121T030405Z-1a2b3c4d: too_large: HTTP status 413"; "" = none
};

// Looks at the incidents below data_dir; O(incidents).
[[nodiscard]] SinkSurvey survey_sink(const std::string& data_dir, const std::string& sink);
// "3 delivered, 2 wait, 1 dead-lettered; ..." for people.
[[nodiscard]] std::string to_text(const SinkSurvey& survey);

}  // namespace oomw
