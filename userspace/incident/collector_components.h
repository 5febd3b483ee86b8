// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pprof/profile.h"

namespace oomw {

// A component of an OpenTelemetry Collector, with the bytes that stacks through it allocated and did not free.
struct CollectorComponent {
  std::string kind;    // receiver | processor | exporter | extension | connector
  std::string id;      // its type in a configuration, as far as its package shows: "otlp"
  std::string module;  // "go.opentelemetry.io/collector/receiver/otlpreceiver"
  std::uint64_t held_bytes = 0;
  double ratio = 0;                               // of all bytes in the profile
  std::optional<std::int64_t> growth_bytes = {};  // since the process's first comparable profile; nullopt: none
  friend bool operator==(const CollectorComponent&, const CollectorComponent&) = default;
};

// The component that a Go function belongs to, by the path of its package. Works for any distribution that
// lays out its packages like the Collector (.../receiver/otlpreceiver). held_bytes is 0.
[[nodiscard]] std::optional<CollectorComponent> component_of_function(std::string_view function);

// In-use bytes per component, largest first. A stack counts for its innermost component; a helper package that
// serves all components of a kind (exporterhelper) is used only if the stack has no other. Stacks without a
// component count for none. Empty: not a Collector. Pure.
inline constexpr std::size_t kMaxCollectorComponents = 64;
[[nodiscard]] std::vector<CollectorComponent> collector_components_of(const pprof::Profile& profile);

}  // namespace oomw
