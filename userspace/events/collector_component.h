// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace oomw {

// A component of an OpenTelemetry Collector, with the bytes that stacks through it allocated and did not free.
struct CollectorComponent {
  static constexpr std::size_t kMaxText = 256;
  std::string kind;    // receiver | processor | exporter | extension | connector
  std::string id;      // its type in a configuration, as far as its package shows: "otlp"
  std::string module;  // "go.opentelemetry.io/collector/receiver/otlpreceiver"
  std::uint64_t held_bytes = 0;
  double ratio = 0;  // of all bytes in the profile
  // Since the process's first comparable profile; nullopt: there is none. Only an incident knows it.
  std::optional<std::int64_t> growth_bytes = {};
  friend bool operator==(const CollectorComponent&, const CollectorComponent&) = default;
};

}  // namespace oomw
