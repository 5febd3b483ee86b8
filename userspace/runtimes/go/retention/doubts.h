// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "runtimes/go/retention/owners.h"

namespace oomw::go::retention {

// Why a global variable that leads to memory may not be called its owner; "" if nothing speaks against it. A word that
// was forged, or is no pointer, reads the same each time, so reading it again proves nothing.
// name: as name_globals() found it; "" if it found none.
[[nodiscard]] std::string_view doubt_about(std::uint64_t address, std::string_view name, const HeapGraph& graph,
                                           const Children& children, const SpanTable& spans, const Paths& paths);

}  // namespace oomw::go::retention
