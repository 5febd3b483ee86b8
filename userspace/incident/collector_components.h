// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pprof/profile.h"

namespace oomw {

// A part of an OpenTelemetry Collector, and what the stacks below it have allocated and not freed.
struct CollectorComponent {
  std::string kind;    // receiver | processor | exporter | extension | connector
  std::string id;      // its type in a configuration, as far as its package tells: "otlp"
  std::string module;  // "go.opentelemetry.io/collector/receiver/otlpreceiver"
  std::uint64_t held_bytes = 0;
  double ratio = 0;                               // of all bytes in the profile
  std::optional<std::int64_t> growth_bytes = {};  // since the first profile of the process; none: there is none like it
  friend bool operator==(const CollectorComponent&, const CollectorComponent&) = default;
};

// The component that a Go function belongs to, by the path of its package: any distribution's, when
// the package lies as the Collector's own do (.../receiver/otlpreceiver). held_bytes is 0.
[[nodiscard]] std::optional<CollectorComponent> component_of_function(std::string_view function);

// In-use bytes by the innermost component on each stack, the most first. Helper packages that serve
// all components of a kind (exporterhelper) count only where the stack has nothing better. Bytes of
// stacks without a component are nobody's. Empty: no Collector. Pure.
inline constexpr std::size_t kMaxCollectorComponents = 64;
[[nodiscard]] std::vector<CollectorComponent> collector_components_of(const pprof::Profile& profile);

}  // namespace oomw
