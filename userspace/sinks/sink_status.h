// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

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

// "tls: wrong certificate", printable.
[[nodiscard]] std::string why_failing(const SinkStatus& status);
// For what no incident stands behind: "failing since 2026-11-21T03:04:05Z: tls: wrong certificate".
[[nodiscard]] std::string to_text(const SinkStatus& status);
[[nodiscard]] std::optional<SinkStatus> parse_sink_status(std::string_view text);
[[nodiscard]] std::optional<SinkStatus> load_sink_status(const std::string& data_dir, const std::string& sink);
[[nodiscard]] Result<> save_sink_status(const std::string& data_dir, const std::string& sink, const SinkStatus& status);

// How the sinks of this daemon do. When one begins to fail, fails in another way or works again, that is a line in the
// log, and in the file for doctor. Any thread, but each sink is noted by one at a time.
class SinkHealth {
 public:
  // clock outlives this.
  SinkHealth(std::string data_dir, const Clock& clock) : data_dir_(std::move(data_dir)), clock_(clock) {}

  void note(const std::string& sink, bool is_failing, const Delivery& delivery);
  [[nodiscard]] std::map<std::string, SinkStatus> failing() const;  // by sink

 private:
  [[nodiscard]] SinkStatus before(const std::string& sink) const;

  const std::string data_dir_;
  const Clock& clock_;
  mutable std::mutex mutex_;  // of the next one
  std::map<std::string, SinkStatus> known_;
};

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
