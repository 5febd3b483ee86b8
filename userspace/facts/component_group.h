// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "pprof/group.h"

namespace oomw {

// component_of_function() for pprof::growth_by(): "receiver/otlp". Helper packages that serve all
// components of a kind are marked as helpers.
[[nodiscard]] pprof::Group component_group_of(const std::string& function);

}  // namespace oomw
