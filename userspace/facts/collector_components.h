// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "events/collector_component.h"
#include "pprof/profile.h"

namespace oomw {

// The component that a Go function belongs to, by the path of its package. Works for any distribution that
// lays out its packages like the Collector (.../receiver/otlpreceiver). held_bytes is 0.
[[nodiscard]] std::optional<CollectorComponent> component_of_function(std::string_view function);

// Whether such a component is a package that serves all of its kind: "exporterhelper", "xreceiver", "internal".
[[nodiscard]] bool is_helper_package(std::string_view kind, std::string_view id);

// In-use bytes per component, largest first. A stack counts for its innermost component; a helper package that
// serves all components of a kind (exporterhelper) is used only if the stack has no other. Stacks without a
// component count for none. Empty: not a Collector. Pure.
inline constexpr std::size_t kMaxCollectorComponents = 64;
[[nodiscard]] std::vector<CollectorComponent> collector_components_of(const pprof::Profile& profile);

}  // namespace oomw
