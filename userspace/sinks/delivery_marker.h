// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/enum_names.h"
#include "base/result.h"
#include "sinks/delivery.h"

namespace oomw {

enum class MarkerState : std::uint8_t { kSent, kDead };
template <>
inline constexpr auto kEnumNames<MarkerState> = std::to_array<std::string_view>({"sent", "dead"});

// What became of an incident at one sink: <incident>/.delivery-<sink>, a line of JSON. No marker: not delivered yet.
// Written without fsync: a marker that a power cut takes costs a second delivery under the same id.
struct DeliveryMarker {
  MarkerState state = MarkerState::kSent;
  std::string revision;  // revision_of() of the incident.json that it is about
  unsigned sent = 0;     // forms of the incident that were delivered; kSent and 0: it had nothing for this sink
  DeliveryReason reason = DeliveryReason::kNone;
  std::string detail;
  WallTime at;
  friend bool operator==(const DeliveryMarker&, const DeliveryMarker&) = default;
};

inline constexpr std::string_view kMarkerPrefix = ".delivery-";
inline constexpr std::size_t kMaxStoredDetail = 512;  // of DeliveryMarker::detail and SinkStatus::detail

[[nodiscard]] std::string to_marker_text(const DeliveryMarker& marker);
[[nodiscard]] std::optional<DeliveryMarker> parse_marker(std::string_view text);

// nullopt: none, or it is torn: then the incident is delivered again.
[[nodiscard]] std::optional<DeliveryMarker> read_marker(const std::string& directory, const std::string& sink);
[[nodiscard]] Result<> write_marker(const std::string& directory, const std::string& sink,
                                    const DeliveryMarker& marker);

// Distinguishes the revisions of an incident.json without reading it; "" = there is no such file.
[[nodiscard]] std::string revision_of(const std::string& directory);

}  // namespace oomw
