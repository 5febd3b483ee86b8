// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "pprof/profile.h"

namespace oomw::pprof {

// The same samples with stacks of groups in place of functions: every frame gets the name of its function's group, and
// neighbours in a stack with the same name become one. A stack of which no frame has a group ("") is one frame called
// `rest`. What is not needed to sum it up is left out: mappings, lines, addresses. Pure.
[[nodiscard]] Profile regrouped(const Profile& profile, const std::function<std::string(const std::string&)>& group_of,
                                const std::string& rest);

}  // namespace oomw::pprof
