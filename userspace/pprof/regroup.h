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

// By the mapped file that each frame is in, its last part; of code without one by its source file ("app.py"), else
// "(no module)". Pure; hostile names stay as they are.
[[nodiscard]] Profile regrouped_by_module(Profile profile);

}  // namespace oomw::pprof
